// What a *_perf program says about its operation; everything else is the harness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/harness/device.hpp"
#include "bench/harness/library.hpp"
#include "nccl.h"

namespace gyre::bench {

// All in elements.
struct Counts {
  std::size_t send = 0;              // what a rank holds before
  std::size_t receive = 0;           // what it holds after, and is checked
  std::size_t argument = 0;          // the count of the call, shown in the table
  std::size_t send_in_place = 0;     // in place, the input of rank r lies at r times this ...
  std::size_t receive_in_place = 0;  // ... and its result at r times this, in the receive buffer
};

// `total` elements split evenly over the ranks, each part a multiple of 16 bytes, as nccl-tests
// does it.
constexpr std::size_t aligned_part(std::size_t total, std::size_t element, std::size_t ranks) {
  const std::size_t unit = 16 / element;
  return total / ranks / unit * unit;
}

// One call on one rank.
struct Call {
  const Library& nccl;
  const Device& device;
  const void* send;
  void* receive;
  std::size_t count;
  ncclDataType_t type;
  std::size_t element;  // bytes
  ncclRedOp_t op;
  int root;
  int rank;
  int ranks;
  ncclComm_t comm;
  cudaStream_t stream;
};

// The data of one rank for one check. `op` is a ncclRedOp_t or kMulSum.
struct DataCase {
  ncclDataType_t type;
  std::size_t element;  // bytes
  int op;
  int root;
  int rank;
  int ranks;
  Counts counts;
  std::uint64_t seed;
  bool denormals;
};

struct Bandwidth {
  double algorithm = 0;  // bytes per second
  double bus = 0;        // times what the busiest link carries of it
};

// Pure apart from launch(); one object serves all threads.
class Collective {
 public:
  virtual ~Collective() = default;

  virtual Counts counts(std::size_t total, std::size_t element, int ranks) const = 0;

  // Issues stage `stage` of the operation on one rank. All ranks of a thread issue a stage inside
  // one group before the next begins.
  virtual void launch(const Call& call, int stage) const = 0;
  virtual int stages(int /*ranks*/) const { return 1; }

  // Writes counts.send elements, the input of the rank.
  virtual void input(const DataCase& data, std::byte* to) const = 0;
  // Writes counts.receive elements, the result on the rank. `to` holds what the receive buffer held
  // before, which is the result where the operation leaves the buffer alone.
  virtual void expected(const DataCase& data, std::byte* to) const = 0;

  // `bytes` = argument count in bytes.
  virtual Bandwidth bandwidth(std::size_t bytes, std::size_t element, double seconds,
                              int ranks) const = 0;

  // Which choices the table iterates over, and what it shows for those it does not.
  virtual bool reduces() const { return false; }
  virtual bool rooted() const { return false; }
  // A row for each operation of -o, which names it; without reduces() it means nothing more.
  virtual bool names_ops() const { return reduces(); }
  virtual std::string_view op_label() const { return "none"; }
  // Results in place are only checked where the operation defines them.
  virtual bool checks_in_place() const { return true; }
  // Options of the communicators that suit the operation.
  virtual void configure(ncclConfig_t& /*config*/) const {}
  // Why it cannot run with so many ranks and bytes: a text, or empty. Shown once; `fatal` says
  // whether it is an error (else the run ends well, with an empty table).
  struct Obstacle {
    std::string text;
    bool fatal = false;
  };
  virtual Obstacle obstacle(std::size_t /*min_bytes*/, std::size_t /*max_bytes*/,
                            int /*ranks*/) const {
    return {};
  }
  // Lines (each beginning with '#') that follow a measurement.
  virtual std::string summary(std::size_t /*bytes*/, std::size_t /*element*/, double /*seconds*/,
                              int /*ranks*/) const {
    return {};
  }
};

// bytes/seconds as algorithm bandwidth, times `factor` as bus bandwidth.
constexpr Bandwidth bandwidth_of(double bytes, double seconds, double factor) {
  return {bytes / seconds, bytes / seconds * factor};
}

// The share of the data that is not a rank's own: (n-1)/n.
constexpr double foreign_share(int ranks) {
  return static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

}  // namespace gyre::bench
