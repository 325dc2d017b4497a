// Registered memory as regions: which range is found, for how long, and what peers map of it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "tests/transport/harness.hpp"
#include "transport/shm/region.hpp"

namespace gyre::test {
namespace {

// 1 MiB of a memfd, mapped from its second page on.
struct FileMemory {
  explicit FileMemory(void* at = nullptr) : file(::memfd_create("registered_test", MFD_CLOEXEC)) {
    const auto page = static_cast<off_t>(page_size());
    EXPECT_EQ(::ftruncate(file.get(), page + off_t{kBytes}), 0);
    const int fixed = at != nullptr ? MAP_FIXED : 0;
    void* base = ::mmap(at, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, file.get(), page);
    EXPECT_NE(base, MAP_FAILED);
    data = static_cast<std::byte*>(base);
  }
  ~FileMemory() { ::munmap(data, kBytes); }
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  static constexpr std::size_t kBytes = 1 << 20;
  Fd file;
  std::byte* data = nullptr;
};

TEST(RegionHold, CoversTheBufferAndNothingElse) {
  const FileMemory memory;
  const std::size_t page = page_size();
  std::byte* const buffer = memory.data + page + 100;
  RegionHold hold = region_hold(buffer, 2 * page);
  ASSERT_TRUE(hold);
  const auto found = region_find(buffer, 2 * page);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 100U) << "in the page in which it begins";
  EXPECT_EQ(found->bytes, 2 * page + 100);
  EXPECT_EQ(region_find(buffer + 8, 8)->offset, 108U);
  EXPECT_FALSE(region_find(buffer - 1, 8));
  EXPECT_FALSE(region_find(buffer, 2 * page + 1));
  const RegionFile file = region_file(found->id);
  ASSERT_TRUE(file.file);
  EXPECT_EQ(file.offset, 2 * page);
  hold = {};
  EXPECT_FALSE(region_find(buffer, 1));
  EXPECT_FALSE(region_file(found->id).file);
}

TEST(RegionHold, NeighboursInOnePageAreTwo) {
  const FileMemory memory;
  const RegionHold first = region_hold(memory.data, 1000);
  const RegionHold second = region_hold(memory.data + 1000, 1000);
  EXPECT_TRUE(region_find(memory.data, 1000));
  EXPECT_EQ(region_find(memory.data + 1000, 1000)->offset, 1000U);
  EXPECT_FALSE(region_find(memory.data + 500, 1000));
}

TEST(RegionHold, APartIsCountedAndALargerOneTakesOver) {
  const FileMemory memory;
  std::vector<std::uint64_t> gone;
  const RegionWatch watch([&](std::uint64_t id, RegionEnd when) {
    EXPECT_EQ(when, RegionEnd::between_calls);
    gone.push_back(id);
  });
  RegionHold middle = region_hold(memory.data + 1000, 9000);
  const std::uint64_t id = region_find(memory.data + 1000, 1)->id;
  RegionHold part = region_hold(memory.data + 2000, 100);
  EXPECT_EQ(region_find(memory.data + 2000, 1)->id, id);
  middle = {};
  EXPECT_TRUE(gone.empty());
  EXPECT_EQ(region_find(memory.data + 1000, 1)->id, id) << "held by its part";
  RegionHold all = region_hold(memory.data, 20'000);
  EXPECT_EQ(gone, std::vector<std::uint64_t>{id});
  EXPECT_GT(region_find(memory.data + 2000, 1)->id, id);
  part = {};
  EXPECT_TRUE(region_find(memory.data + 2000, 1));
  all = {};
  EXPECT_EQ(gone.size(), 2U);
  EXPECT_FALSE(region_find(memory.data + 2000, 1));
}

TEST(RegionHold, OfWhatLaysThereBeforeIsGivenUp) {
  auto memory = std::make_unique<FileMemory>();
  std::byte* const place = memory->data;
  const RegionHold stale = region_hold(place, 10'000);
  const std::uint64_t id = region_find(place, 1)->id;
  memory.reset();
  memory = std::make_unique<FileMemory>(place);
  const RegionHold hold = region_hold(place + 100, 100);
  EXPECT_NE(region_find(place + 100, 100)->id, id) << "another file by now";
  EXPECT_FALSE(region_find(place, 1));
  ASSERT_EQ(
      ::mmap(place, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      place);
  EXPECT_FALSE(region_hold(place, 1000));
  EXPECT_FALSE(region_find(place + 100, 100)) << "no file any more";
}

TEST(RegionHold, MemoryOfThePoolStaysAsItIs) {
  auto* memory = static_cast<std::byte*>(*region_alloc(10'000));
  const std::uint64_t id = region_find(memory, 1)->id;
  { EXPECT_FALSE(region_hold(memory + 100, 100)); }
  EXPECT_EQ(region_find(memory, 10'000)->id, id);
  const FileMemory file;
  const RegionHold hold = region_hold(file.data, 100);
  EXPECT_EQ(region_free(file.data).status(), Status::invalid_argument) << "not the pool's to free";
  EXPECT_TRUE(region_find(file.data, 100));
  EXPECT_TRUE(region_free(memory));
}

// World 2 over shared memory, rank 0's file known to rank 1 as `header` says.
struct Handed {
  explicit Handed(std::size_t skew) : buffer(memory.data + skew) {
    const auto data = pattern(4, kBytes);
    std::memcpy(buffer, data.data(), data.size());
    hold = region_hold(buffer, kBytes);
    EXPECT_TRUE(world[0].link(1).refer(buffer + 8, kBytes - 8, false, header));
    header.bytes = kBytes - 8;
    std::vector<std::byte> payload(header.bytes);
    EXPECT_TRUE(world[1].link(0).fetch(header, header.bytes, payload.data()));
    EXPECT_EQ(std::memcmp(payload.data(), data.data() + 8, payload.size()), 0);
  }
  const std::byte* in_place() { return world[1].link(0).locate(header, header.bytes); }

  static constexpr std::size_t kBytes = 100'000;
  World world{{"shm", ""}, 2};
  FileMemory memory;
  std::byte* buffer;
  RegionHold hold;
  SlotHeader header;
};

TEST(RegionHold, PeersReadItInPlaceUntilACallHasEndedAfterIt) {
  Handed handed(300);
  EXPECT_EQ(handed.header.kind, SlotKind::mapped);
  EXPECT_EQ(handed.header.location, 308U);
  const std::byte* const there = handed.in_place();
  ASSERT_NE(there, nullptr);
  handed.buffer[8] = std::byte{0x77};
  EXPECT_EQ(*there, std::byte{0x77}) << "the same memory";
  handed.hold = {};
  SlotHeader again;
  EXPECT_FALSE(handed.world[0].link(1).refer_region(handed.buffer, 1000, again));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_NE(handed.in_place(), nullptr) << "a slot may be under way";
  handed.world[0].transport->between_calls();
  const Deadline deadline = Deadline::after(kHang);
  while (handed.in_place() != nullptr && !deadline.expired()) std::this_thread::yield();
  EXPECT_EQ(handed.in_place(), nullptr);
}

TEST(RegionHold, AFileThatIsCutShortIsNotIntact) {
  Handed handed(0);
  Link& link = handed.world[1].link(0);
  const std::byte* const there = handed.in_place();
  EXPECT_TRUE(link.intact(handed.header));
  ASSERT_EQ(::ftruncate(handed.memory.file.get(), 0), 0);
  const std::byte read = *static_cast<const volatile std::byte*>(there);
  EXPECT_EQ(read, std::byte{0});
  const auto intact = link.intact(handed.header);
  EXPECT_EQ(intact.status(), Status::peer_lost);
  EXPECT_NE(intact.error().text.find("rank 0 cut the file short"), std::string::npos);
}

}  // namespace
}  // namespace gyre::test
