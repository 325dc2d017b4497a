// A group of processes without any device: who am I, who are the others, small messages to all.
// For launch code, benches and trainers; also the way to give all ranks one UniqueId without MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"
#include "bootstrap/unique_id.hpp"

namespace gyre {

struct WorldOptions {
  // For URLs that do not say them; negative: from the launcher.
  int rank = -1;
  int world = -1;
  // Of joining and of each call; 0: GYRE_INIT_TIMEOUT.
  milliseconds timeout{0};
  // Also raised by join() when another rank dies meanwhile; outlives the World.
  AbortState* abort = nullptr;
};

// All calls are collective in the same order on all ranks, one thread at a time, and end at the
// deadline with the missing ranks' numbers.
class World {
 public:
  // "env://"               the launcher's variables; without a launcher a world of one
  // "tcp://host:port"      rank 0 listens there; "?rank=0&world=2" or the launcher's or `options`
  // "file:///dir"          rank 0 leaves the id in a file of that (shared) directory
  static Result<std::unique_ptr<World>> join(std::string_view url,
                                             const WorldOptions& options = {});
  virtual ~World() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Among the ranks of the same machine (host name and boot id), in order of rank.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;

  // Parts of at most Control::kMaxGatherBytes; by rank.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(
      std::span<const std::byte> mine) = 0;
  // On the root `bytes` is sent, elsewhere it is replaced.
  virtual Result<void> broadcast(std::vector<std::byte>& bytes, int root) = 0;
  virtual Result<void> barrier() = 0;

  // The same new id on every rank, served by rank 0's process.
  virtual Result<UniqueId> make_unique_id() = 0;
};

}  // namespace gyre
