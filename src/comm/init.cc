// How a communicator comes to be, phase by phase: meet, wire up, agree.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "bootstrap/rendezvous.hpp"
#include "comm/communicator.hpp"
#include "comm/machines.hpp"
#include "exec/describe.hpp"
#include "transport/registry.hpp"

namespace gyre {
namespace {

// Empty sweeps per microsecond of GYRE_SPIN: a sweep with a pause takes about this fraction of one.
constexpr unsigned kSweepsPerMicrosecond = 20;
// With more ranks than cores the peer we wait for may need this very core.
constexpr unsigned kCrowdedSpins = 16;
constexpr milliseconds kLatePatience{500};
// What a rank that gives up before it met anybody spends on telling the others.
constexpr milliseconds kLastWords{2000};
// The questioner's lanes rest while it waits for the answers.
constexpr milliseconds kAnswerPatience{100};

std::string opening_of(int rank) { return fmt::format("init of rank {}", rank); }

// Whether this rank found the error itself, so that the others cannot know of it.
bool is_own(const Error& error) {
  return error.status != Status::timeout && error.status != Status::peer_lost &&
         error.status != Status::aborted;
}

}  // namespace

Result<void> Communicator::open(const UniqueId& id) {
  const Inside inside(wiring_);
  if (state() != State::opening) {
    const Error error{Status::aborted, fmt::format("rank {} aborted the communicator", rank_)};
    (void)contained(opening_of(rank_), [&] {
      return report_failure(id, rank_, world_, error, Deadline::after(kLastWords));
    });
    return error;
  }
  Result<void> result = contained(opening_of(rank_), [&]() -> Result<void> {
    const Result<Settings>& parsed = settings();
    if (!parsed) return parsed.error();
    settings_ = *parsed;
    GYRE_TRY(choose_device());
    const Deadline deadline = Deadline::after(milliseconds(settings_.init_timeout_ms));
    GYRE_TRY(meet(id, deadline));
    return wire(deadline);
  });
  const bool met = attendance_ != nullptr;
  // What another rank did is heard of only after meeting it.
  const bool own = !result && (is_own(result.error()) || result.status() == Status::aborted);
  if (own && !met) return refuse_to_open(id, result.error());
  return ready_or_fail(std::move(result));
}

Result<void> Communicator::refuse_to_open(const UniqueId& id, const Error& error) {
  // The others would wait for this rank until the deadline.
  (void)contained(opening_of(rank_), [&] {
    return report_failure(id, rank_, world_, error, Deadline::after(kLastWords));
  });
  return ready_or_fail(error);
}

Result<void> Communicator::open_among(const Communicator& parent, const std::vector<int>& members,
                                      const JobKey& key) {
  const Inside inside(wiring_);
  settings_ = parent.settings_;
  key_ = key;
  if (parent.device_ != nullptr) {
    device_ = std::make_unique<DeviceRank>(parent.device_->backend(), parent.device_->ordinal());
  }
  for (const int member : members)
    facts_.push_back(parent.facts_[static_cast<std::size_t>(member)]);
  Result<void> result = contained(opening_of(rank_), [&] {
    return wire(Deadline::after(milliseconds(settings_.init_timeout_ms)));
  });
  // Nobody else watches this rank before it is at the control star, and so it goes there to say why
  // it comes no further.
  if (!result && control_ == nullptr && is_own(result.error()))
    (void)contained("", [&] { return open_control(Deadline::after(kLastWords)); });
  return ready_or_fail(std::move(result));
}

Result<void> Communicator::open_control(Deadline deadline) {
  const std::vector<Address> hub =
      rank_ == 0 ? std::vector<Address>{} : reachable(facts_[0].endpoint);
  GYRE_TRY_ASSIGN(control_, Control::open(key_, rank_, world_, hub, this, deadline, &abort_));
  if (attendance_) attendance_->reached_rank_0();
  return {};
}

Result<void> Communicator::ready_or_fail(Result<void> result) {
  const auto attendance = std::move(attendance_);
  if (result && abort_.raised()) result = abort_.reason();
  if (result) {
    if (attendance) attendance->goodbye();
    log_info(Subsystem::init, "rank {} of {}: ready", rank_, world_);
    state_.store(State::ready, std::memory_order_release);
    return result;
  }
  const Error error = result.error();
  log_info(Subsystem::init, "rank {} of {}: init failed: {}", rank_, world_, error.text);
  if (abort_.raise(error)) {
    // Who has not reached the control star still attends the rendezvous.
    if (control_ != nullptr) control_->announce(error);
    if (attendance) attendance->give_up(error);
  } else if (attendance && abort_.reason().status != Status::aborted) {
    // The others hear of the fault from where it is; that this rank goes as well is no news.
    attendance->goodbye();
  }
  state_.store(State::failed, std::memory_order_release);
  return abort_.reason();
}

Result<void> Communicator::meet(const UniqueId& id, Deadline deadline) {
  GYRE_TRY_ASSIGN(PeerFacts own, own_facts(settings_));
  own.machine = own_machine(settings_, rank_);
  GYRE_TRY(add_device(own));
  GYRE_TRY_ASSIGN(Meeting meeting, gyre::meet(id, rank_, world_, encode(own), deadline, &abort_));
  attendance_ = std::move(meeting.attendance);
  key_ = meeting.session;
  for (const auto& bytes : meeting.facts) {
    GYRE_TRY_ASSIGN(PeerFacts facts, decode_facts(bytes));
    facts_.push_back(std::move(facts));
  }
  GYRE_TRY(compare_facts(facts_));
  // Not before: where the facts do not fit, every rank is to say so itself.
  attendance_->watch(abort_);
  return {};
}

Result<void> Communicator::make_bell() {
  // Shared if the kernel lets us, so that peers can ring across processes; else this process only.
  if (auto segment = create_segment(page_size())) {
    bell_segment_ = *std::move(segment);
    GYRE_TRY_ASSIGN(bell_page_, Mapping::shared(bell_segment_, page_size()));
  } else {
    GYRE_TRY_ASSIGN(bell_page_, Mapping::anonymous(page_size()));
  }
  GYRE_TRY_ASSIGN(BellEnd bell, BellEnd::create(new (bell_page_.data()) BellWord));
  bell_ = std::move(bell);
  abort_.on_raise([rope = bell_->rope()] { rope.ring(); });
  return {};
}

Result<void> Communicator::wire(Deadline deadline) {
  GYRE_TRY(make_bell());
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
    names.push_back(rank_name(static_cast<int>(rank), facts_[rank]));
  }
  watch_ = std::make_unique<PeerWatch>(std::move(names), bell_->rope());
  GYRE_TRY(open_control(deadline));
  bool by_kernels = device_ != nullptr && kernels_may_reach_all();
  if (by_kernels) {
    GYRE_TRY_ASSIGN(by_kernels, connect_device(deadline));
  }
  if (by_kernels) {
    GYRE_TRY(open_device());
  } else {
    GYRE_TRY(connect_peers(deadline));
    GYRE_TRY(make_executor());
    if (device_ != nullptr) GYRE_TRY(open_errands());
  }
  return agree_on_plan(deadline);
}

namespace {

// One row of the verdict matrix per rank: byte p is 1 if the rank reached peer p.
std::vector<std::byte> verdict_row(std::span<const int> peers, const std::vector<bool>& reached,
                                   int world) {
  std::vector<std::byte> row(static_cast<std::size_t>(world), std::byte{0});
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (reached[i]) row[static_cast<std::size_t>(peers[i])] = std::byte{1};
  }
  return row;
}

}  // namespace

Result<void> Communicator::connect_peers(Deadline deadline) {
  const TransportContext context{.rank = rank_,
                                 .world = world_,
                                 .key = key_,
                                 .settings = &settings_,
                                 .abort = &abort_,
                                 .bell = &*bell_,
                                 .bell_segment = &bell_segment_,
                                 .events = watch_.get()};
  transport_of_.assign(static_cast<std::size_t>(world_), nullptr);
  if (world_ == 1) return {};
  transports_ = make_transports(context);
  for (auto& transport : transports_) {
    GYRE_TRY_ASSIGN(const Blob mine, transport->offer());
    // Without "+hook": a hook of one rank alone is no disagreement.
    const std::string_view path = transport->name().substr(0, transport->name().find('+'));
    GYRE_TRY_ASSIGN(const auto blobs, control_->all_gather(mine, fmt::format("offers of {}", path),
                                                           deadline, &abort_));
    std::vector<int> peers;
    for (int peer = 0; peer < world_; ++peer) {
      const auto index = static_cast<std::size_t>(peer);
      if (peer != rank_ && transport_of_[index] == nullptr &&
          transport->reaches(peer, mine, blobs[index])) {
        peers.push_back(peer);
      }
    }
    GYRE_TRY_ASSIGN(const std::vector<bool> reached, transport->connect(peers, blobs, deadline));
    GYRE_TRY_ASSIGN(const auto rows,
                    control_->all_gather(verdict_row(peers, reached, world_),
                                         fmt::format("verdicts of {}", path), deadline, &abort_));
    std::vector<int> agreed;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const auto& row = rows[static_cast<std::size_t>(peers[i])];
      const bool theirs = row.size() == static_cast<std::size_t>(world_) &&
                          row[static_cast<std::size_t>(rank_)] == std::byte{1};
      if (!reached[i] || !theirs) continue;
      agreed.push_back(peers[i]);
      transport_of_[static_cast<std::size_t>(peers[i])] = transport.get();
    }
    transport->keep(agreed);
  }
  for (int peer = 0; peer < world_; ++peer) {
    if (peer != rank_ && transport_of_[static_cast<std::size_t>(peer)] == nullptr) {
      return Error{Status::system,
                   fmt::format("no transport reaches {} from {}; see NCCL_DEBUG=WARN for what was "
                               "tried (NCCL_SOCKET_IFNAME chooses the interface)",
                               watch_->name(peer), watch_->name(rank_))};
    }
  }
  return {};
}

Result<void> Communicator::make_executor() {
  RankExecutor::Config config;
  config.rank = rank_;
  for (std::size_t peer = 0; peer < transport_of_.size(); ++peer) {
    Transport* transport = transport_of_[peer];
    config.links.push_back(transport == nullptr ? nullptr
                                                : transport->link(static_cast<int>(peer)));
    if (transport != nullptr && std::find(config.transports.begin(), config.transports.end(),
                                          transport) == config.transports.end()) {
      config.transports.push_back(transport);
    }
  }
  config.slot_bytes = static_cast<std::uint64_t>(settings_.slot_bytes);
  config.slots = static_cast<std::uint32_t>(settings_.slots);
  config.abort = &abort_;
  config.peers = watch_.get();
  config.bell = &*bell_;
  const auto ranks_here = std::count_if(facts_.begin(), facts_.end(), [&](const PeerFacts& facts) {
    return facts.host == facts_[static_cast<std::size_t>(rank_)].host;
  });
  const bool crowded =
      static_cast<std::size_t>(ranks_here) > std::max(1U, std::thread::hardware_concurrency());
  const auto spins = static_cast<unsigned>(settings_.spin_us) * kSweepsPerMicrosecond;
  config.spins = crowded ? std::min(spins, kCrowdedSpins) : spins;
  config.timeout = milliseconds(settings_.timeout_ms);
  config.announce = [this](const Error& error) {
    if (control_ != nullptr) control_->announce(error);
  };
  config.who_is_late = [this] { return who_is_late(); };
  config.disagreement = [this] { return disagreement(); };
  GYRE_TRY_ASSIGN(executor_, RankExecutor::create(std::move(config)));
  return {};
}

// Another rank whose collective of the same number is another call than this rank's, or which
// waits for this rank while that waits for it: for a message, say, that is in no other call.
std::optional<Error> Communicator::disagreement() {
  if (world_ == 1) return std::nullopt;
  const auto ranks = control_->ask_progress(kAnswerPatience, &abort_);
  if (!ranks) return std::nullopt;
  const CallStamp own{latest_stamp_.load(std::memory_order_relaxed)};
  const CallTag tag{latest_tag_.load(std::memory_order_relaxed)};
  for (const Control::Progress& one : *ranks) {
    const CallStamp theirs{one.stamp};
    if (!one.answered || one.stamp == 0 || theirs.number() != own.number()) continue;
    if (one.call == tag.value && one.stamp == own.value) continue;
    return Error{
        Status::invalid_usage,
        fmt::format("ranks disagree about a call: rank {} is in {}, rank {} in {}; every "
                    "rank must issue the same calls with the same count, type, operation "
                    "and root",
                    rank_, describe(tag, own), one.rank, describe(CallTag{one.call}, theirs))};
  }
  const AwaitedPeer here = executor_->awaited();
  for (const Control::Progress& one : *ranks) {
    const AwaitedPeer& there = one.awaited;
    if (!one.answered || !wait_for_each_other(rank_, here, one.rank, there)) continue;
    return Error{
        Status::invalid_usage,
        fmt::format("ranks wait for each other, and neither will send: rank {} is in {}, rank {} "
                    "in {}; every rank must issue the same collectives, and for each receive its "
                    "peer a send",
                    rank_, describe(CallTag{here.call}, CallStamp{here.stamp}), one.rank,
                    describe(CallTag{there.call}, CallStamp{there.stamp}))};
  }
  return std::nullopt;
}

// The ranks that do not answer, else those that have entered the fewest calls.
std::string Communicator::who_is_late() {
  if (world_ == 1) return "it is the only rank";
  const auto ranks = control_->ask_progress(kLatePatience, nullptr);
  if (!ranks) return ranks.error().text;
  std::string silent;
  const Control::Progress* last = nullptr;
  for (const Control::Progress& one : *ranks) {
    if (!one.answered) {
      silent += fmt::format("{}{}", silent.empty() ? "" : ", ", watch_->name(one.rank));
    } else if (last == nullptr || one.entered < last->entered) {
      last = &one;
    }
  }
  if (!silent.empty()) return fmt::format("{} does not answer (stopped or unreachable)", silent);
  const std::uint64_t own = executor_->entered.load(std::memory_order_relaxed);
  if (last != nullptr && last->entered < own) {
    return fmt::format("{} has entered {} calls, this rank {}", watch_->name(last->rank),
                       last->entered, own);
  }
  return "all ranks have entered it and answer; the link may be slow";
}

}  // namespace gyre
