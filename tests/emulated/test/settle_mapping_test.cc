// Blocks of one rank ask whether a peer's buffers are mapped, while the host maps them: all must go
// by one answer. The kernel's own code, on blocks of the emulated device.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/device/portable.cuh"
//
#include "kernels/device/mapped.cuh"
#include "tests/emulated/block.hpp"

namespace gyre::device {
namespace {

constexpr std::uint32_t kRanks = 2, kBlocks = 2;
constexpr std::uint64_t kAllocation = 5;  // of the peer
constexpr std::uint64_t kShift = 0x1000;

// What rank 0 of two has when the peer has asked its question, and said yes.
class Rank0 {
 public:
  Rank0() {
    for (LanePair& pair : lanes_) {
      pair.receive.headers = headers_;
      pair.receive.slots = 4;
    }
    Rank& rank = launch.rank;
    rank.world = kRanks;
    rank.channels = kBlocks;
    rank.lanes = lanes_;
    rank.ends = ends_;
    rank.refers = refers_;
    rank.mailbox = &mailbox_;
    rank.reporting = &reporting_;
    rank.exchange = {inbox(0), counts_};
    rank.mappings = {table_.data(), missed_, shifts_, &ended_};
    launch.chains = 1;
    launch.channels = kBlocks;
    for (std::uint32_t i = 0; i < kRanks; ++i) launch.inboxes.of[i] = inbox(i);
    Work& work = launch.inline_works[0];
    work.asks = true;
    work.input_allocation = work.output_allocation = kAllocation;
    const std::uint32_t flag = flag_of(0);
    uint4* const from_peer = lines_at(rank, inbox(0), 0, 0, 1);
    from_peer[0] = first_line(work.tag, work.stamp, flag);
    from_peer[kInputLine] = from_peer[kOutputLine] = line_of(kAllocation, flag);
    from_peer[kAnswerLine] = line_of(1, flag);
    answer_ = &from_peer[kAnswerLine];
    for (auto& block : blocks) {
      block = std::make_unique<BlockBytes>();
      block->get().mapped = true;
    }
  }

  void map() {
    Mapping& place = table_[kMappings + kAllocation];
    place.shift = kShift;
    __atomic_store_n(&place.allocation, kAllocation, __ATOMIC_RELEASE);
  }
  void unmap() { table_[kMappings + kAllocation] = {}; }
  void take_the_peers_answer_back() { *answer_ = {}; }
  void abort() { __atomic_store_n(&mailbox_.abort, 1U, __ATOMIC_RELEASE); }
  std::uint64_t told_the_peer() const {
    return data_of(lines_at(launch.rank, launch.inboxes.of[1], 0, 0, 0)[kAnswerLine]);
  }
  std::uint64_t missed() const { return missed_[2]; }
  const Block& block(std::uint32_t i) const { return blocks[i]->get(); }

  struct BlockBytes {
    alignas(64) std::byte bytes[sizeof(Block)] = {};
    Block& get() { return *reinterpret_cast<Block*>(bytes); }
  };
  Launch launch;
  std::unique_ptr<BlockBytes> blocks[kBlocks];

 private:
  std::byte* inbox(std::size_t rank) { return reinterpret_cast<std::byte*>(inboxes_[rank].data()); }

  std::vector<uint4> inboxes_[kRanks] = {
      std::vector<uint4>(exchange_inbox_bytes(kRanks, kBlocks) / sizeof(uint4)),
      std::vector<uint4>(exchange_inbox_bytes(kRanks, kBlocks) / sizeof(uint4))};
  std::vector<Mapping> table_ = std::vector<Mapping>(kRanks * kMappings);
  LanePair lanes_[kRanks * kBlocks];
  SlotHeader headers_[4];
  Ends ends_[kRanks * kBlocks];
  std::uint64_t counts_[kBlocks] = {};
  std::uint64_t missed_[2 * kRanks] = {};
  Shifts shifts_[kRanks];
  uint4* answer_ = nullptr;
  std::uint32_t ended_ = 0, reporting_ = 0;
  std::uint8_t refers_[kRanks] = {1, 0};
  Mailbox mailbox_;
};

void settle_block(const void* rank) {
  auto& all = *static_cast<Rank0*>(const_cast<void*>(rank));
  if (threadIdx.x >= kThreads - kWarp) {
    settle_mapping(all.blocks[blockIdx.x]->get(), all.launch);
  }
}

// The host maps between the first block's look and another block's begin.
TEST(SettleMapping, BlocksThatWouldFindMoreThanTheFirstGoByItsAnswer) {
  Rank0 rank;
  emulated::run_block(settle_block, &rank, 0);
  rank.map();
  emulated::run_block(settle_block, &rank, 1);
  EXPECT_EQ(rank.told_the_peer(), 0U);
  EXPECT_EQ(rank.missed(), kAllocation);
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    EXPECT_FALSE(rank.block(i).stop) << i;
    EXPECT_FALSE(rank.block(i).mapped) << i;
    EXPECT_EQ(rank.block(i).refers[1], 0) << i;
  }
}

// A peer that is done with the call may have freed its buffers.
TEST(SettleMapping, BlocksThatWouldFindLessThanTheFirstGoByItsAnswer) {
  Rank0 rank;
  rank.map();
  emulated::run_block(settle_block, &rank, 0);
  rank.unmap();
  emulated::run_block(settle_block, &rank, 1);
  EXPECT_EQ(rank.told_the_peer(), 1U);
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    EXPECT_FALSE(rank.block(i).stop) << i;
    EXPECT_TRUE(rank.block(i).mapped) << i;
    EXPECT_EQ(rank.block(i).refers[1], 1) << i;
    EXPECT_EQ(rank.block(i).shifts[1].input, kShift) << i;
    EXPECT_EQ(rank.block(i).shifts[1].output, kShift) << i;
  }
}

// Threads of a warp see the abort at different moments, but meet at all its barriers.
TEST(SettleMapping, AnAbortEndsAllWaits) {
  for (int round = 0; round < 200; ++round) {
    Rank0 rank;
    rank.map();
    rank.take_the_peers_answer_back();
    std::jthread first([&] { emulated::run_block(settle_block, &rank, 0); });
    if (round % 2 == 0) std::this_thread::yield();
    rank.abort();
    first.join();
    EXPECT_TRUE(rank.block(0).stop);
  }
}

}  // namespace
}  // namespace gyre::device
