// The host executor of one rank: steps the strands of a launch cooperatively, moves socket bytes in
// the same loop, and turns every blocked wait into an end (data, abort, loss or deadline).
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/abort.hpp"
#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/memory.hpp"
#include "bootstrap/awaited_peer.hpp"
#include "exec/launch.hpp"
#include "exec/peer_watch.hpp"
#include "exec/result_routes.hpp"
#include "exec/spin_budget.hpp"
#include "transport/transport.hpp"

namespace gyre {

// What a thread sleeps on; kept, so that sleeping allocates nothing.
struct SleepList {
  std::vector<const BellEnd*> bells;
  std::vector<pollfd> descriptors;
};

class RankExecutor {
 public:
  struct Config {
    int rank = 0;
    std::vector<Link*> links;            // by peer; the own entry is null
    std::vector<Transport*> transports;  // those that carry at least one link
    std::uint64_t slot_bytes = 0;        // largest slice
    std::uint32_t slots = 0;             // of a lane
    AbortState* abort = nullptr;
    PeerWatch* peers = nullptr;
    const BellEnd* bell = nullptr;
    unsigned spins = 0;       // empty sweeps before the rank yields, then sleeps
    milliseconds timeout{0};  // per call; 0: none
    // Tells the other ranks of a fault that this rank found.
    std::function<void(const Error&)> announce;
    // Finds out who is late when the timeout has passed; "" if nobody can tell.
    std::function<std::string()> who_is_late;
    // Asks the other ranks which call they are in and whom they wait for; an error if it is another
    // call than this rank's, or if a rank and this one wait for each other.
    std::function<std::optional<Error>()> disagreement;
  };

  static Result<std::unique_ptr<RankExecutor>> create(Config config);

  // One sweep over the launch's chains and the transports. Never blocks.
  Result<Progress> sweep(Launch& launch);
  // The first sweeps over an exchange, as short as can be where every lane is memory. Whether it
  // ended well; otherwise sweep() goes on from where it stands, and finds again what was wrong.
  bool ends_at_once(ExchangeRun& run);
  // Why the launch can never go on, if it cannot.
  struct Wait {
    Clock::time_point since;  // when the call first waited
    Clock::time_point quiet;  // when something last moved, as of the last check
  };
  Result<void> check_faults(const Launch& launch, const Wait& wait, std::string_view doing);
  // The last peer for which alone this rank waited so long that it asked the others. Any thread.
  AwaitedPeer awaited() const;
  // Records a fault that this rank found and tells everybody.
  Error fault(Error error);

  // After a failed call: takes back what peers may still read in this rank's buffers.
  void revoke_references();

  bool polls() const { return !pollers_.empty(); }
  void descriptors(std::vector<pollfd>& fds) const;
  const BellEnd& bell() const { return *config_.bell; }
  // For whoever drives this rank, and perhaps others with it. There is room for this rank alone.
  SleepList& sleep_list() { return sleep_list_; }
  SpinBudget& spin_budget() { return spin_budget_; }
  ResultRoutes& result_routes() { return result_routes_; }

  // Calls begun and ended, for the answer to "who is late?".
  std::atomic<std::uint64_t> entered{0}, finished{0};

 private:
  RankExecutor(Config config, Mapping scratch);

  Result<bool> sweep_runs(Launch& launch, bool& done);
  std::optional<int> blocked_for_ever(const Launch& launch) const;
  std::optional<int> lost_receiver() const;
  std::optional<AwaitedPeer> awaited_by(const Launch& launch) const;
  AwaitedPeer awaits(int peer, CallTag tag, CallStamp stamp) const;
  bool references_taken();
  void await_peers_at_work() const;
  bool flushed() const;

  Config config_;
  std::vector<Transport*> pollers_;
  std::vector<const std::byte*> operands_;
  DueBells bells_;
  Places places_;
  Destinations destinations_;
  Outbox outbox_;
  SleepList sleep_list_;
  SpinBudget spin_budget_;
  ResultRoutes result_routes_;
  Mapping scratch_;
  std::uint64_t scratch_stride_ = 0;
  Clock::time_point next_question_{};
  mutable std::mutex awaited_mutex_;
  AwaitedPeer awaited_;
  Wiring wiring_;
};

// One rank's launches in a drive(); `doing` names them in errors.
struct Drive {
  RankExecutor* executor = nullptr;
  std::span<Launch> launches;
  std::string_view doing;
  bool counts = true;  // among the calls that ranks tell each other of
  std::size_t at = 0;
  Result<void> result;
};

// Runs all launches of all ranks to their end on the calling thread. Every wait can be aborted.
void drive(std::span<Drive> drives);

}  // namespace gyre
