// Lanes in device memory, between ranks whose devices reach each other's memory: ranks of one
// process by address, ranks of one machine through IPC. Kernels alone send over them.
//
// Every rank makes one block of device memory, its inbox. Per channel and peer it holds the headers
// and slots of the lane from that peer, and the credit of the lane to that peer, so that every
// rank polls its own memory and writes to its peers'.
//
// Life at init, collective: create() -> offer(), all-gathered -> connect() -> probe(), a barrier ->
// probed(), all-gathered: a path is used only if it carried a number both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "gyre/plugin.h"
#include "kernels/device/work.hpp"
#include "transport/device/board.hpp"
#include "transport/device/memory.hpp"

namespace gyre {

// How large a rank's lanes are; the same on all ranks of a communicator.
struct LaneShape {
  std::uint32_t world = 1;
  std::uint32_t channels = 1;
  std::uint32_t slots = 4;  // a power of two
  std::uint64_t slot_bytes = 0;
};

class DeviceLanes {
 public:
  static Result<std::unique_ptr<DeviceLanes>> create(const gyreBackend& backend, int ordinal,
                                                     int rank, const LaneShape& shape);
  ~DeviceLanes();
  DeviceLanes(const DeviceLanes&) = delete;
  DeviceLanes& operator=(const DeviceLanes&) = delete;

  Result<std::vector<std::byte>> offer() const;
  // Maps the peers' inboxes. An error names the first peer that cannot be reached, and why.
  Result<void> connect(std::span<const std::vector<std::byte>> offers);
  // Writes a number to every peer.
  Result<void> probe();
  // Whether the number of every peer has arrived; after a barrier.
  Result<void> probed() const;

  const gyreBackend& backend() const { return backend_; }
  int ordinal() const { return ordinal_; }
  int rank() const { return rank_; }
  std::size_t world() const { return peers_.size(); }

  // For DeviceMappings: a posting of this rank's board `own`, its edition, and those of a peer.
  Result<void> write_posting(const Board& own, std::size_t index) const;
  Result<void> write_board(const Board& own) const;
  Result<void> write_edition(const Board& own) const;
  Result<void> read_board(int peer, Board& board) const;
  Result<std::uint64_t> read_edition(int peer) const;
  // And a place in the row of a peer that this rank's kernels look up.
  Result<void> write_mapping(int peer, std::size_t place, const device::Mapping& mapping) const;

  // Whether all ranks are in this process, so that any buffer of one is at hand for all.
  bool one_process() const;
  // Fills the parts of the rank that are the lanes'.
  void describe(device::Rank& rank) const;
  device::Inboxes inboxes() const;

 private:
  struct Peer {
    std::byte* inbox = nullptr;
    // Of a peer in this process: this rank's kernels may write there after the peer has gone.
    std::shared_ptr<const DeviceMemory> shared;
    bool imported = false;  // the mapping does the same for a peer of another process
  };

  DeviceLanes(const gyreBackend& backend, int ordinal, int rank, const LaneShape& shape);
  Result<Peer> reach(std::span<const std::byte> offer) const;
  Result<void> copy_in(std::size_t at, const void* from, std::size_t bytes) const;
  Result<void> copy_out(int peer, std::size_t at, void* to, std::size_t bytes) const;
  Result<void> write_tables() const;
  LaneView lane(std::byte* inbox, std::byte* credits, std::uint32_t channel, int sender,
                int receiver) const;

  // Where the parts of an inbox begin.
  struct Plan {
    std::size_t headers, credits, probes, ends, tokens, reporting, lanes, refers, counts, board,
        mappings, shifts, ended, exchange, data, bytes;
  };
  static Plan plan_of(const LaneShape& shape);

  const gyreBackend& backend_;
  const int ordinal_;
  const int rank_;
  const LaneShape shape_;
  const Plan plan_;
  std::shared_ptr<const DeviceMemory> inbox_;
  std::vector<Peer> peers_;
};

}  // namespace gyre
