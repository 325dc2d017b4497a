#include "bootstrap/hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.hpp"
#include "base/process.hpp"
#include "bootstrap/control.hpp"

namespace gyre {
namespace {

// How long a failed hub stays to give its reason to ranks that come late.
constexpr std::chrono::seconds kLinger{10};
constexpr std::chrono::seconds kGentle{2};
constexpr std::size_t kMaxSpokePayload = Control::kMaxGatherBytes + 2 * kMaxTextBytes;
// Ids that were created and never used; the one that waited longest gives way.
constexpr std::size_t kMaxHubs = 4096;

// A connection for each rank, and a few for what the process opens meanwhile.
std::size_t descriptors_for(int world) { return static_cast<std::size_t>(world) + 16; }

using HubKey = std::pair<Nonce, Purpose>;
// The hubs of this process. Only the reactor's thread touches it.
std::map<HubKey, std::shared_ptr<Hub>>& hubs() {
  static auto* all = new std::map<HubKey, std::shared_ptr<Hub>>;
  return *all;
}

SharedBytes error_frame(FrameType type, std::uint64_t sequence, int rank, const Error& error) {
  return encode(type, sequence, encode(ErrorMessage{static_cast<std::uint32_t>(rank), error}));
}

}  // namespace

Result<std::shared_ptr<Hub>> Hub::start(const Options& options) {
  GYRE_TRY(refuse_in_child());
  std::shared_ptr<Hub> hub(new Hub(options));
  // A hub that cannot serve still answers for a while: the ranks that come learn why.
  if (options.world > 0) {
    const auto enough = ensure_descriptors(descriptors_for(options.world));
    if (!enough) hub->broken_ = enough.error();
  }
  Result<void> result;
  Reactor::instance().run([&] {
    const HubKey key{options.key.nonce, options.purpose};
    const auto old = hubs().find(key);
    if (old != hubs().end() && old->second->over()) old->second->finish();
    if (options.fixed_address) {
      auto fixed = Listener::instance().also_listen_on(*options.fixed_address);
      if (!fixed) {
        result = Error{fixed.status(),
                       fmt::format("rank 0 ({}) cannot listen where the ranks are to meet: {}; end "
                                   "the program that has the port, or choose another (MASTER_PORT, "
                                   "NCCL_COMM_ID or the tcp:// address)",
                                   process_identity(), fixed.error().text)};
        return;
      }
      hub->fixed_ = *std::move(fixed);
    }
    auto expecting = Listener::instance().expect(options.key, options.purpose, 0,
                                                 [raw = hub.get()](const Hello& hello, Fd fd) {
                                                   raw->admit(hello.from_rank, std::move(fd));
                                                 });
    if (!expecting) {
      result = expecting.error();
      return;
    }
    hub->expecting_ = *std::move(expecting);
    hub->members_.resize(static_cast<std::size_t>(options.world));
    hub->self_ = hub;
    drop_oldest_unused();
    static std::uint64_t serial = 0;
    hub->serial_ = ++serial;
    hubs()[key] = hub;
    if (hub->broken_) {
      result = *hub->broken_;
      hub->linger();
    }
  });
  if (!result) return std::move(result).error();
  return hub;
}

void Hub::drop_oldest_unused() {
  if (hubs().size() < kMaxHubs) return;
  std::shared_ptr<Hub> oldest;
  for (const auto& [_, hub] : hubs()) {
    if (hub->first_member_ >= 0 || (oldest && oldest->serial_ < hub->serial_)) continue;
    oldest = hub;
  }
  if (oldest) oldest->finish();
}

void Hub::retire(const JobKey& key, Purpose purpose) {
  Reactor::instance().run([&] {
    const auto found = hubs().find({key.nonce, purpose});
    if (found != hubs().end()) std::shared_ptr(found->second)->finish();
  });
}

std::string Hub::name(int rank) const {
  const std::string& identity = members_[static_cast<std::size_t>(rank)].identity;
  return identity.empty() ? fmt::format("rank {}", rank)
                          : fmt::format("rank {} ({})", rank, identity);
}

void Hub::admit(std::uint32_t rank, Fd fd) {
  // The closures hold the hub weakly, or a hub and its connections would keep each other alive.
  const std::weak_ptr<Hub> weak = weak_from_this();
  auto cell = std::make_shared<std::weak_ptr<FrameConnection>>();
  auto joined = std::make_shared<bool>(false);
  const auto connection = FrameConnection::start(
      std::move(fd), kMaxSpokePayload,
      {[weak, cell, joined, rank](const Frame& frame) {
         const auto hub = weak.lock();
         const auto self = cell->lock();
         if (!hub || !self) return;
         if (std::exchange(*joined, true)) {
           hub->on_frame(static_cast<int>(rank), frame);
         } else {
           hub->on_first_frame(self, rank, frame);
         }
       },
       [weak, cell, rank](std::string how) {
         const auto hub = weak.lock();
         if (!hub) return;
         const auto self = cell->lock();
         if (hub->unjoined_.erase(self) != 0) {
           hub->finish_if_done();
         } else if (rank < hub->world() && hub->members_[rank].connection == self) {
           hub->on_end(static_cast<int>(rank), std::move(how));
         }
       }});
  *cell = connection;
  unjoined_.insert(connection);
}

void Hub::refuse(const std::shared_ptr<FrameConnection>& connection, const Error& error) {
  connection->send(error_frame(FrameType::refused, 0, 0, error));
  connection->close_gently(Clock::now() + kGentle);
  finish_if_done();
}

void Hub::on_first_frame(const std::shared_ptr<FrameConnection>& connection, std::uint32_t rank,
                         const Frame& frame) {
  const auto keep = shared_from_this();
  unjoined_.erase(connection);
  if (frame.type != FrameType::join) return connection->close();
  const auto message = decode_join(frame.payload);
  if (!message) return refuse(connection, message.error());
  if (broken_) return refuse(connection, *broken_);
  if (const auto checked = check_join(*message, rank); !checked) {
    refuse(connection, checked.error());
    // Whoever else waits would wait for a rank that cannot come.
    break_down(static_cast<int>(rank), checked.error());
    return;
  }
  join(connection, *message);
}

Result<void> Hub::check_join(const JoinMessage& join, std::uint32_t rank) {
  if (join.version != kBootstrapVersion) {
    return Error{
        Status::invalid_usage,
        fmt::format("rank {} speaks version {} of the bootstrap protocol, this process ({}) "
                    "version {}: use the same build of Gyre for every rank",
                    rank, join.version, process_identity(), kBootstrapVersion)};
  }
  if (join.rank != rank) {
    return Error{Status::internal, fmt::format("rank {} joined as rank {}", rank, join.rank)};
  }
  if (members_.empty()) {
    members_.resize(join.world);
    return ensure_descriptors(descriptors_for(static_cast<int>(join.world)));
  }
  if (join.world != world()) {
    const std::string other = first_member_ < 0 ? process_identity() : name(first_member_);
    return Error{Status::invalid_usage,
                 fmt::format("rank {} ({}) was started in a world of {} ranks, {} in one of {}",
                             rank, join.identity, join.world, other, world())};
  }
  const Member& member = members_[rank];
  if (member.presence != Presence::absent) {
    return Error{Status::invalid_usage, fmt::format("two processes claim to be rank {}: {}, and {}",
                                                    rank, member.identity, join.identity)};
  }
  return {};
}

void Hub::join(const std::shared_ptr<FrameConnection>& connection, const JoinMessage& message) {
  Member& member = members_[message.rank];
  member.presence = Presence::present;
  member.identity = message.identity;
  member.connection = connection;
  if (first_member_ < 0) first_member_ = static_cast<int>(message.rank);
  const bool all = std::none_of(members_.begin(), members_.end(),
                                [](const Member& m) { return m.presence == Presence::absent; });
  // Nobody else is to come.
  if (all && !is_rendezvous()) expecting_.reset();
  tell_history(static_cast<int>(message.rank));
}

void Hub::tell_history(int rank) {
  for (std::size_t other = 0; other < world(); ++other) {
    const Member& member = members_[other];
    if (member.presence != Presence::lost && member.presence != Presence::left) continue;
    const auto type = member.presence == Presence::lost ? FrameType::lost : FrameType::left;
    send(rank, encode(type, 0, encode(RankMessage{static_cast<std::uint32_t>(other), member.how})));
  }
}

void Hub::send(int rank, const SharedBytes& frame) {
  const auto& connection = members_[static_cast<std::size_t>(rank)].connection;
  if (connection) connection->send(frame);
}

void Hub::send_to_others(int rank, const SharedBytes& frame) {
  for (std::size_t other = 0; other < world(); ++other) {
    if (static_cast<int>(other) != rank) send(static_cast<int>(other), frame);
  }
}

void Hub::on_frame(int rank, const Frame& frame) {
  const auto keep = shared_from_this();
  switch (frame.type) {
    case FrameType::part:
      if (auto part = decode_part(frame.payload)) {
        return on_part(rank, frame.sequence, *std::move(part));
      }
      break;
    case FrameType::announce:
      if (auto message = decode_error(frame.payload)) {
        return on_announce(rank, std::move(message->error));
      }
      break;
    case FrameType::goodbye:
      return goodbye(rank);
    case FrameType::ask:
      if (const auto patience = decode_patience(frame.payload)) {
        return on_ask(rank, frame.sequence, *patience);
      }
      break;
    case FrameType::answer:
      if (const auto answers = decode_answers(frame.payload); answers && answers->size() == 1) {
        return on_answer(rank, frame.sequence, answers->front());
      }
      break;
    default:
      break;
  }
  on_end(rank, "sent a message that makes no sense");
}

void Hub::on_announce(int rank, Error error) {
  error.text = fmt::format("{}: {}", name(rank), error.text);
  break_down(rank, error);
}

// From now on no gather can succeed, and everybody is told why.
void Hub::break_down(int rank, const Error& error) {
  if (!broken_) broken_ = error;
  send_to_others(rank, error_frame(FrameType::announced, 0, rank, error));
  while (!gathers_.empty()) fail_gather(gathers_.begin()->first, *broken_);
  if (is_rendezvous()) linger();
}

void Hub::goodbye(int rank) {
  const auto keep = shared_from_this();
  Member& member = members_[static_cast<std::size_t>(rank)];
  if (member.presence != Presence::present) return;
  member.presence = Presence::left;
  member.connection->close_gently(Clock::now() + kGentle);
  member.connection.reset();
  if (!is_rendezvous()) {
    send_to_others(rank, encode(FrameType::left, 0,
                                encode(RankMessage{static_cast<std::uint32_t>(rank), {}})));
  }
  fail_gathers_without(rank);
  finish_if_done();
}

void Hub::on_end(int rank, std::string how) {
  const auto keep = shared_from_this();
  Member& member = members_[static_cast<std::size_t>(rank)];
  if (member.presence != Presence::present) return;
  member.presence = Presence::lost;
  member.how = how;
  if (member.connection) member.connection->close();
  member.connection.reset();
  // A rendezvous says it below, once, and with the reason.
  if (!is_rendezvous()) {
    log_info(Subsystem::bootstrap, "{} {}", name(rank), how);
    send_to_others(rank, encode(FrameType::lost, 0,
                                encode(RankMessage{static_cast<std::uint32_t>(rank), how})));
  }
  for (auto& [_, question] : questions_) question.answers[static_cast<std::size_t>(rank)] = {};
  if (is_rendezvous() && !broken_) {
    // Also when all have met: the others would wait for a rank that never comes to the next step.
    break_down(rank, {Status::peer_lost, fmt::format("init: {} {}", name(rank), how)});
  }
  fail_gathers_without(rank);
  finish_if_done();
}

void Hub::linger() {
  if (linger_) return;
  linger_ = Reactor::instance().at(Clock::now() + kLinger, [this] {
    const auto keep = shared_from_this();
    finish();
  });
}

void Hub::finish_if_done() {
  const bool connected = std::any_of(members_.begin(), members_.end(),
                                     [](const Member& m) { return m.connection != nullptr; });
  if (connected || !unjoined_.empty() || members_.empty()) return;
  const bool all_came = std::none_of(members_.begin(), members_.end(), [](const Member& m) {
    return m.presence == Presence::absent;
  });
  if (complete_ || (all_came && !is_rendezvous())) {
    finish();
  } else {
    // Somebody may still come, and should learn that the others are gone.
    linger();
  }
}

void Hub::finish() {
  const auto keep = std::exchange(self_, nullptr);
  if (!keep) return;
  // Another hub may have taken the key over.
  std::erase_if(hubs(), [&](const auto& entry) { return entry.second == keep; });
  expecting_.reset();
  fixed_.reset();
  linger_.reset();
  gathers_.clear();
  questions_.clear();
  for (const auto& connection : std::exchange(unjoined_, {})) connection->close();
  for (Member& member : members_) {
    // Parts of a result may still be in the queue.
    if (member.connection) member.connection->close_gently(Clock::now() + kGentle);
    member.connection.reset();
  }
}

}  // namespace gyre
