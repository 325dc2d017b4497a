#include "exec/rank_executor.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "base/log.hpp"
#include "exec/cpu_relax.hpp"

namespace gyre {

namespace {
// A rank that waits for a live rank which in turn waits for a dead one learns of it from that rank;
// this bounds the wait if the rank between is busy elsewhere and never enters the call.
constexpr milliseconds kIndirectLossPatience{1000};
// Ranks in different calls may wait for each other without ever exchanging a slot that shows it
// (one takes the root for another, say). After this long without a move the others are asked, then
// again at this interval; peers that are merely late answer and cost nothing.
constexpr milliseconds kQuietBeforeQuestion{500};
constexpr milliseconds kQuestionInterval{2000};
constexpr milliseconds kAtWorkPatience{500};
// Of one chain: a call that never blocks is to be stopped by an abort all the same.
constexpr unsigned kStepsPerSweep = 64;
// Looks for messages before faults are looked for as well.
constexpr unsigned kExchangeSpins = 64;
}  // namespace

Result<std::unique_ptr<RankExecutor>> RankExecutor::create(Config config) {
  // Reserved address space; only fetched operands ever touch it.
  GYRE_TRY_ASSIGN(Mapping scratch, Mapping::reserved(round_up(config.slot_bytes, page_size()) *
                                                     config.links.size()));
  return std::unique_ptr<RankExecutor>(new RankExecutor(std::move(config), std::move(scratch)));
}

RankExecutor::RankExecutor(Config config, Mapping scratch)
    : config_(std::move(config)),
      operands_(2 * (config_.links.size() + 1)),
      bells_(config_.links.size()),
      places_(config_.links.size()),
      destinations_(2 * config_.links.size() + 1),
      outbox_(config_.slots, config_.slot_bytes, config_.links.size()),
      spin_budget_(config_.spins),
      scratch_(std::move(scratch)),
      scratch_stride_(round_up(config_.slot_bytes, page_size())) {
  for (Transport* transport : config_.transports) {
    if (transport->polls()) pollers_.push_back(transport);
  }
  descriptors(sleep_list_.descriptors);
  sleep_list_.descriptors.reserve(sleep_list_.descriptors.size() + 1);  // and the bell
  sleep_list_.bells.reserve(1);
  wiring_.rank = static_cast<std::uint32_t>(config_.rank);
  wiring_.links = config_.links;
  wiring_.bells = &bells_;
  wiring_.places = &places_;
  wiring_.destinations = &destinations_;
  wiring_.outbox = &outbox_;
  wiring_.operands = std::span(operands_).first(config_.links.size() + 1);
  wiring_.messages = std::span(operands_).last(config_.links.size() + 1);
  wiring_.scratch = scratch_.data();
  wiring_.scratch_stride = scratch_stride_;
}

Result<bool> RankExecutor::sweep_runs(Launch& launch, bool& done) {
  if (launch.exchange) {
    GYRE_TRY_ASSIGN(const Progress progress, launch.exchange->try_step(wiring_));
    done = progress == Progress::done;
    return progress != Progress::blocked;
  }
  bool stepped = false;
  done = true;
  wiring_.local = &launch.local;
  wiring_.results = &launch.results;
  for (Launch::Chain& chain : launch.chains) {
    for (unsigned steps = 0; chain.next < chain.end && steps < kStepsPerSweep; ++steps) {
      GYRE_TRY_ASSIGN(const Progress progress, launch.runs[chain.next].try_step(wiring_));
      if (progress == Progress::blocked) break;
      stepped = true;
      if (progress == Progress::done) ++chain.next;
    }
    done = done && chain.next == chain.end;
  }
  return stepped;
}

bool RankExecutor::references_taken() {
  for (Link* link : config_.links) {
    if (link != nullptr && !link->send.taken(link->referred_until)) return false;
  }
  return true;
}

void RankExecutor::revoke_references() {
  for (Link* link : config_.links) {
    if (link != nullptr && !link->send.taken(link->referred_until)) link->send.revoke_references();
  }
  await_peers_at_work();
}

// A peer that works on this rank's memory at this moment is done within a slice's time, unless it
// is stopped or dead.
void RankExecutor::await_peers_at_work() const {
  const Deadline deadline = Deadline::after(kAtWorkPatience);
  for (std::size_t index = 0; index < config_.links.size(); ++index) {
    const Link* link = config_.links[index];
    const int peer = static_cast<int>(index);
    if (link == nullptr) continue;
    while (link->send.peer_at_work() && !config_.peers->lanes_ended(peer)) {
      if (deadline.expired()) {
        log_warn(
            "{} stopped while it worked on rank {}'s memory, and may still read or change it when "
            "it "
            "goes on",
            config_.peers->name(peer), config_.rank);
        return;
      }
      ::sched_yield();
    }
  }
}

bool RankExecutor::flushed() const {
  for (const Transport* transport : pollers_) {
    if (!transport->flushed()) return false;
  }
  return true;
}

Result<Progress> RankExecutor::sweep(Launch& launch) {
  bool done = false;
  auto swept = sweep_runs(launch, done);
  bells_.ring();
  GYRE_TRY_ASSIGN(bool stepped, std::move(swept));
  for (Transport* transport : pollers_) {
    GYRE_TRY_ASSIGN(const bool moved, transport->poll());
    stepped = stepped || moved;
  }
  if (done && references_taken() && flushed()) return Progress::done;
  return stepped ? Progress::stepped : Progress::blocked;
}

bool RankExecutor::ends_at_once(ExchangeRun& run) {
  if (!pollers_.empty()) return false;
  const unsigned spins = spin_budget_.has_plenty(kExchangeSpins) ? kExchangeSpins : 0;
  for (unsigned idle = 0;; ++idle) {
    const Result<Progress> progress = run.try_step(wiring_);
    bells_.ring();
    if (!progress) return false;
    if (*progress == Progress::done) {
      if (idle > 0) spin_budget_.found(idle);
      return true;
    }
    if (idle == spins) return false;
    cpu_relax();
  }
}

Error RankExecutor::fault(Error error) {
  if (config_.abort->raise(error)) {
    config_.announce(error);
    return error;
  }
  return config_.abort->reason();
}

// A peer whose lanes have ended and that a run still waits for. The loss is known, so everything
// the peer ever wrote is visible when it is looked at again.
std::optional<int> RankExecutor::blocked_for_ever(const Launch& launch) const {
  const auto lost_by = [this](const auto& run) -> std::optional<int> {
    const int peer = run.blocked_on(wiring_);
    if (peer < 0 || !config_.peers->lanes_ended(peer) || run.blocked_on(wiring_) != peer) {
      return std::nullopt;
    }
    return peer;
  };
  if (launch.exchange) return lost_by(*launch.exchange);
  for (const Launch::Chain& chain : launch.chains) {
    if (chain.next == chain.end) continue;
    if (const auto peer = lost_by(launch.runs[chain.next])) return peer;
  }
  return std::nullopt;
}

// A peer whose lanes have ended before it took all that this rank sent.
std::optional<int> RankExecutor::lost_receiver() const {
  for (std::size_t index = 0; index < config_.links.size(); ++index) {
    Link* link = config_.links[index];
    const int peer = static_cast<int>(index);
    if (link == nullptr || !config_.peers->lanes_ended(peer)) continue;
    if (!link->send.taken(link->referred_until) || !link->flushed()) return peer;
  }
  return std::nullopt;
}

// A peer that must send before any unfinished chain of the launch can go on.
std::optional<AwaitedPeer> RankExecutor::awaited_by(const Launch& launch) const {
  if (launch.exchange) {
    const int peer = launch.exchange->awaited_sender(wiring_);
    if (peer < 0) return std::nullopt;
    return awaits(peer, launch.exchange->tag(), launch.exchange->stamp());
  }
  int peer = -1;
  const StrandRun* waiting = nullptr;
  for (const Launch::Chain& chain : launch.chains) {
    if (chain.next == chain.end) continue;
    const StrandRun& run = launch.runs[chain.next];
    if (run.awaits_strand(wiring_)) continue;  // and that one is looked at as well
    if (peer < 0) {
      peer = run.awaited_sender(wiring_);
      waiting = &run;
    }
    if (peer < 0 || !run.awaits(peer, wiring_)) return std::nullopt;
  }
  if (peer < 0) return std::nullopt;
  return awaits(peer, waiting->tag(), waiting->stamp());
}

AwaitedPeer RankExecutor::awaits(int peer, CallTag tag, CallStamp stamp) const {
  const Link& link = *config_.links[static_cast<std::size_t>(peer)];
  return {peer, link.send.position(), link.receive.position(), tag.value, stamp.value};
}

AwaitedPeer RankExecutor::awaited() const {
  const std::lock_guard lock(awaited_mutex_);
  return awaited_;
}

Result<void> RankExecutor::check_faults(const Launch& launch, const Wait& wait,
                                        std::string_view doing) {
  if (config_.abort->raised()) return config_.abort->reason();
  if (config_.peers->changed()) {
    auto needed = blocked_for_ever(launch);
    if (!needed) needed = lost_receiver();
    if (const auto peer = needed ? config_.peers->to_blame(*needed) : std::nullopt) {
      return fault(config_.peers->loss_of(*peer, doing));
    }
    if (const auto peer = config_.peers->gone_for(kIndirectLossPatience)) {
      return fault(config_.peers->loss_of(*peer, doing));
    }
  }
  const Clock::time_point now = Clock::now();
  if (now - wait.quiet > kQuietBeforeQuestion && now >= next_question_) {
    next_question_ = now + kQuestionInterval;
    if (const auto awaited = awaited_by(launch)) {
      const std::lock_guard lock(awaited_mutex_);
      awaited_ = *awaited;
    }
    if (auto error = config_.disagreement()) return fault(*std::move(error));
  }
  if (config_.timeout.count() > 0 && now - wait.since > config_.timeout) {
    return fault({Status::timeout,
                  fmt::format("{} on rank {} did not end within GYRE_TIMEOUT ({} ms): {}", doing,
                              config_.rank, config_.timeout.count(), config_.who_is_late())});
  }
  return {};
}

void RankExecutor::descriptors(std::vector<pollfd>& fds) const {
  for (const Transport* transport : pollers_) transport->descriptors(fds);
}

}  // namespace gyre
