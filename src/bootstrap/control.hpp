// The star among the ranks of one communicator: a hub on the reactor of rank 0's process, a spoke
// in every rank. It carries small all-gathers, errors, goodbyes and questions about progress, and
// its connections show at once who died. Data never travels here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/awaited_peer.hpp"
#include "bootstrap/job_key.hpp"

namespace gyre {

// How many operations a rank has entered and finished, its latest collective (CallTag and
// CallStamp; a stamp of 0: none, or not known), and what it last waited for at length.
struct ProgressCounts {
  std::uint64_t entered = 0;
  std::uint64_t finished = 0;
  std::uint32_t call = 0;
  std::uint64_t stamp = 0;
  AwaitedPeer awaited{};
};

// Told of the other ranks. All are called on the reactor's thread and must not block; none is
// called after ~Control began to return.
class ControlEvents {
 public:
  virtual ~ControlEvents() = default;
  // Rank `from` announced an error; the text names it.
  virtual void announced(int from, Error error) = 0;
  // The rank's connection ended without a goodbye. `how` completes "rank 3 (host h, pid 12) ...".
  virtual void lost(int rank, std::string how) = 0;
  virtual void left(int rank) = 0;
  virtual ProgressCounts progress() { return {}; }
};

class Control {
 public:
  inline static constexpr std::size_t kMaxGatherBytes = 1 << 20;  // one rank's part

  // Collective over the communicator's ranks. `hub_addresses` (with ports) is where rank 0's
  // process listens: reachable(its Endpoint); rank 0 itself may pass none. A world of one opens
  // no connection. `events` outlives the Control.
  static Result<std::unique_ptr<Control>> open(const JobKey& key, int rank, int world,
                                               std::span<const Address> hub_addresses,
                                               ControlEvents* events, Deadline deadline,
                                               const AbortState* abort);
  // Never blocks on a peer. Without goodbye() before, the other ranks see this one as lost.
  virtual ~Control() = default;

  // Collective, same order on all ranks, one thread at a time; `what` must agree. Returns the
  // ranks' parts by rank. At the earliest deadline: timeout on all that came, naming the missing
  // and `what`. After a rank was lost, left, or announced an error: peer_lost or that error.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                                 std::string_view what,
                                                                 Deadline deadline,
                                                                 const AbortState* abort) = 0;

  // Tells every other rank; any thread, does not block. All later all_gathers fail with it.
  virtual void announce(const Error& error) = 0;

  // Says that the end of this rank's connection, from now on, is no loss. Does not block.
  virtual void goodbye() = 0;

  struct Progress {
    int rank = 0;
    bool answered = false;
    std::uint64_t entered = 0;
    std::uint64_t finished = 0;
    std::uint32_t call = 0;
    std::uint64_t stamp = 0;
    AwaitedPeer awaited{};
  };
  // Asks every rank how far it is; their reactors answer even while their user threads compute. A
  // stopped process does not answer within `patience`. By rank. If the hub itself does not answer:
  // timeout, naming rank 0.
  virtual Result<std::vector<Progress>> ask_progress(milliseconds patience,
                                                     const AbortState* abort) = 0;
};

}  // namespace gyre
