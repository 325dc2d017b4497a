#include "bootstrap/spoke.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/contain.hpp"
#include "base/process.hpp"
#include "bootstrap/reactor.hpp"

namespace gyre {
namespace {

constexpr milliseconds kAbortPoll{20};
// The hub decides at the deadline who is missing; this is how long its verdict may travel.
constexpr milliseconds kVerdictGrace{1000};
constexpr std::chrono::seconds kGentle{2};
constexpr std::size_t kMaxHubPayload = std::size_t{1} << 31;

std::uint64_t patience_of(Deadline deadline) {
  if (deadline.is_never()) return std::numeric_limits<std::uint64_t>::max();
  const auto left = std::chrono::ceil<milliseconds>(deadline.at() - Clock::now());
  return static_cast<std::uint64_t>(std::max(left, milliseconds(0)).count());
}

Deadline later(Deadline deadline, milliseconds grace) {
  if (deadline.is_never()) return deadline;
  return Deadline::after(std::max(deadline.at() - Clock::now(), Clock::duration(0)) + grace);
}

}  // namespace

std::shared_ptr<Spoke> Spoke::start(Fd fd, int rank, int world, ControlEvents* events) {
  std::shared_ptr<Spoke> spoke(new Spoke(rank, world, events));
  Reactor::instance().run([&] {
    const std::weak_ptr<Spoke> weak = spoke;
    spoke->connection_ = FrameConnection::start(std::move(fd), kMaxHubPayload,
                                                {[weak](Frame frame) {
                                                   if (const auto self = weak.lock())
                                                     self->on_frame(std::move(frame));
                                                 },
                                                 [weak](std::string how) {
                                                   if (const auto self = weak.lock())
                                                     self->on_end(std::move(how));
                                                 }});
    const JoinMessage join{kBootstrapVersion, static_cast<std::uint32_t>(rank),
                           static_cast<std::uint32_t>(world), process_identity()};
    spoke->connection_->send(encode(FrameType::join, 0, encode(join)));
  });
  return spoke;
}

void Spoke::stop() {
  Reactor::instance().run([&] {
    events_ = nullptr;
    if (!connection_) return;
    // Also without a goodbye: what was announced must not be destroyed by a reset. Destructors come
    // here: without the memory for that the connection ends at once.
    (void)contained("", [&]() -> Result<void> {
      connection_->close_gently(Clock::now() + kGentle);
      return {};
    });
    connection_.reset();
  });
}

void Spoke::post(SharedBytes frame) {
  Reactor::instance().post([self = shared_from_this(), frame = std::move(frame)] {
    if (self->connection_) self->connection_->send(frame);
  });
}

Result<Frame> Spoke::exchange(std::uint64_t sequence, SharedBytes frame, Deadline deadline,
                              const AbortState* abort, std::string_view what) {
  GYRE_TRY(refuse_in_child());
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return *dead_;
    replies_[sequence];
  }
  post(std::move(frame));
  std::unique_lock lock(mutex_);
  Reply& reply = replies_[sequence];
  Result<Frame> result = Error{};
  for (;;) {
    if (reply.arrived) {
      result = std::move(reply.frame);
      break;
    }
    if (dead_) {
      result = *dead_;
      break;
    }
    if (abort != nullptr && abort->raised()) {
      result = abort->reason();
      break;
    }
    if (deadline.expired()) {
      result =
          Error{Status::timeout,
                fmt::format("{}: no word from rank 0's process, which collects the answers, by "
                            "the deadline; it may be stopped or cut off",
                            what)};
      break;
    }
    auto until = Clock::now() + (abort != nullptr ? kAbortPoll : milliseconds(1000));
    if (!deadline.is_never()) until = std::min(until, deadline.at());
    changed_.wait_until(lock, until);
  }
  replies_.erase(sequence);
  return result;
}

Result<Spoke::Parts> Spoke::all_gather(std::span<const std::byte> mine, std::string_view what,
                                       Deadline deadline, const AbortState* abort) {
  if (mine.size() > Control::kMaxGatherBytes) {
    return Error{Status::invalid_usage,
                 fmt::format("{}: {} bytes are too many for one rank's part", what, mine.size())};
  }
  const PartMessage message{std::string(what), patience_of(deadline), {mine.begin(), mine.end()}};
  const std::uint64_t sequence = next_++;
  GYRE_TRY_ASSIGN(const Frame frame,
                  exchange(sequence, encode(FrameType::part, sequence, encode(message)),
                           later(deadline, kVerdictGrace), abort, what));
  if (frame.type == FrameType::failure) {
    GYRE_TRY_ASSIGN(auto message_back, decode_error(frame.payload));
    return std::move(message_back.error);
  }
  GYRE_TRY_ASSIGN(Parts parts, decode_parts(frame.payload));
  if (parts.size() != static_cast<std::size_t>(world_)) {
    return Error{Status::internal,
                 fmt::format("{}: {} parts of {} came", what, parts.size(), world_)};
  }
  return parts;
}

Result<std::vector<AnswerMessage>> Spoke::ask(milliseconds patience, const AbortState* abort) {
  const std::uint64_t sequence = [&] {
    const std::lock_guard lock(mutex_);
    return next_ask_++;
  }();
  const auto payload = encode_patience(static_cast<std::uint64_t>(patience.count()));
  GYRE_TRY_ASSIGN(const Frame frame, exchange(sequence, encode(FrameType::ask, sequence, payload),
                                              Deadline::after(patience + kVerdictGrace / 4), abort,
                                              "asking the ranks for their progress"));
  GYRE_TRY_ASSIGN(auto answers, decode_answers(frame.payload));
  if (answers.size() != static_cast<std::size_t>(world_)) {
    return Error{Status::internal, "the answers are not of as many ranks as there are"};
  }
  return answers;
}

void Spoke::announce(const Error& error) {
  post(encode(FrameType::announce, 0, encode(ErrorMessage{0, error})));
}

bool Spoke::was_judged() {
  const std::lock_guard lock(mutex_);
  return judged_;
}

void Spoke::goodbye() { post(encode(FrameType::goodbye, 0, {})); }

void Spoke::on_frame(Frame frame) {
  const std::uint64_t sequence = frame.sequence;
  switch (frame.type) {
    case FrameType::failure:
      judge();
      return reply(sequence, std::move(frame));
    case FrameType::whole:
    case FrameType::answers:
      return reply(sequence, std::move(frame));
    case FrameType::announced:
      judge();
      return on_announced(frame);
    case FrameType::refused:
      return on_announced(frame);
    case FrameType::lost:
    case FrameType::left:
      return on_rank_gone(frame);
    case FrameType::question:
      return answer(sequence);
    default:
      return on_end("sent a message that makes no sense");
  }
}

void Spoke::judge() {
  const std::lock_guard lock(mutex_);
  judged_ = true;
}

void Spoke::answer(std::uint64_t sequence) {
  const ProgressCounts counts = events_ != nullptr ? events_->progress() : ProgressCounts{};
  const std::vector<AnswerMessage> answers = {
      {true, counts.entered, counts.finished, counts.call, counts.stamp, counts.awaited}};
  if (connection_) connection_->send(encode(FrameType::answer, sequence, encode(answers)));
}

void Spoke::on_announced(const Frame& frame) {
  auto message = decode_error(frame.payload);
  if (!message) return on_end("sent nonsense");
  fail_all(message->error);
  if (events_ != nullptr) {
    events_->announced(static_cast<int>(message->rank), std::move(message->error));
  }
}

void Spoke::on_rank_gone(const Frame& frame) {
  auto message = decode_rank(frame.payload);
  if (!message || message->rank >= static_cast<std::uint32_t>(world_))
    return on_end("sent nonsense");
  const int rank = static_cast<int>(message->rank);
  if (rank == 0 && frame.type == FrameType::left) hub_left_ = true;
  if (frame.type == FrameType::lost && !loss_) {
    loss_ = Error{Status::peer_lost, fmt::format("rank {} {}", rank, message->how)};
  }
  if (events_ == nullptr) return;
  if (frame.type == FrameType::left) {
    events_->left(rank);
  } else {
    events_->lost(rank, std::move(message->how));
  }
}

void Spoke::on_end(std::string how) {
  if (connection_) connection_->close();
  connection_.reset();
  // Rank 0 may go when it has said goodbye, and its hub goes with it.
  // If a rank was lost before, that is why.
  if (hub_left_) {
    fail_all(loss_.value_or(Error{
        Status::peer_lost, "rank 0 has left, and with it the process that connects the ranks"}));
    return;
  }
  fail_all({Status::peer_lost, fmt::format("rank 0's process {}", how)});
  if (events_ != nullptr && rank_ != 0) events_->lost(0, std::move(how));
}

void Spoke::reply(std::uint64_t sequence, Result<Frame> frame) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = replies_.find(sequence);
    if (found == replies_.end()) return;  // the waiter gave up
    found->second.frame = std::move(frame);
    found->second.arrived = true;
  }
  changed_.notify_all();
}

void Spoke::fail_all(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!dead_) dead_ = error;
  }
  changed_.notify_all();
}

}  // namespace gyre
