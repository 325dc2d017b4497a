// The hub's all-gathers, and its questions about progress.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bootstrap/control.hpp"
#include "bootstrap/hub.hpp"

namespace gyre {
namespace {

constexpr std::size_t kMaxGatheredBytes = std::size_t{1} << 30;
constexpr std::size_t kRememberedFailures = 64;
constexpr std::uint64_t kLongestPatienceMs = 7ULL * 24 * 3600 * 1000;

SharedBytes failure_frame(std::uint64_t sequence, const Error& error) {
  return encode(FrameType::failure, sequence, encode(ErrorMessage{0, error}));
}

}  // namespace

void Hub::on_part(int rank, std::uint64_t sequence, PartMessage message) {
  if (broken_) return send(rank, failure_frame(sequence, *broken_));
  if (const auto failed = failed_.find(sequence); failed != failed_.end()) {
    return send(rank, failure_frame(sequence, failed->second));
  }
  const auto [place, added] = gathers_.try_emplace(sequence);
  Gather& gather = place->second;
  if (added) {
    gather.what = message.what;
    gather.first = rank;
    gather.parts.resize(world());
  }
  auto& part = gather.parts[static_cast<std::size_t>(rank)];
  if (part) return on_end(rank, "sent its part of an all-gather twice");
  const std::uint64_t patience = message.patience_ms;
  gather.bytes += message.bytes.size();
  part = std::move(message.bytes);
  ++gather.present;
  if (gather.what != message.what) {
    return fail_gather(sequence,
                       {Status::invalid_usage,
                        fmt::format("the ranks do different things: {} is at \"{}\", {} "
                                    "at \"{}\"",
                                    name(gather.first), gather.what, name(rank), message.what)});
  }
  if (gather.bytes > kMaxGatheredBytes) {
    return fail_gather(
        sequence, {Status::invalid_usage, fmt::format("{}: the parts of all ranks exceed {} MiB",
                                                      gather.what, kMaxGatheredBytes >> 20)});
  }
  if (auto error = impossible(gather)) return fail_gather(sequence, *error);
  if (gather.present == world()) return complete(sequence, gather);
  set_timer(sequence, gather, patience);
}

// A gather waits as long as its least patient rank.
void Hub::set_timer(std::uint64_t sequence, Gather& gather, std::uint64_t patience_ms) {
  if (patience_ms > kLongestPatienceMs) return;
  const auto deadline = Clock::now() + milliseconds(static_cast<std::int64_t>(patience_ms));
  if (deadline >= gather.deadline) return;
  gather.deadline = deadline;
  gather.patience_ms = patience_ms;
  gather.timer = Reactor::instance().at(deadline, [this, sequence] {
    const auto keep = shared_from_this();
    on_gather_deadline(sequence);
  });
}

void Hub::on_gather_deadline(std::uint64_t sequence) {
  const auto found = gathers_.find(sequence);
  if (found == gathers_.end()) return;
  const Gather& gather = found->second;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < world(); ++rank) {
    if (!gather.parts[rank]) missing.push_back(static_cast<int>(rank));
  }
  fail_gather(sequence,
              {Status::timeout,
               fmt::format("{}: {} of {} did not come in time (the shortest deadline was {:.1f} s)",
                           gather.what, text_of_ranks(missing), world(),
                           static_cast<double>(gather.patience_ms) / 1000)});
}

void Hub::complete(std::uint64_t sequence, Gather& gather) {
  std::vector<std::vector<std::byte>> parts;
  parts.reserve(gather.parts.size());
  for (auto& part : gather.parts) parts.push_back(*std::move(part));
  gathers_.erase(sequence);
  const auto frame = encode(FrameType::whole, sequence, encode(parts));
  if (is_rendezvous()) {
    // Before the result goes out: whoever has it may begin the next rendezvous of the same id.
    complete_ = true;
    expecting_.reset();
  }
  for (std::size_t rank = 0; rank < world(); ++rank) send(static_cast<int>(rank), frame);
}

void Hub::fail_gather(std::uint64_t sequence, const Error& error) {
  const auto found = gathers_.find(sequence);
  if (found == gathers_.end()) return;
  const auto parts = std::move(found->second.parts);
  gathers_.erase(found);
  failed_.insert_or_assign(sequence, error);
  if (failed_.size() > kRememberedFailures) failed_.erase(failed_.begin());
  const auto frame = failure_frame(sequence, error);
  for (std::size_t rank = 0; rank < world(); ++rank) {
    if (parts[rank]) send(static_cast<int>(rank), frame);
  }
  if (is_rendezvous() && !broken_) break_down(-1, error);
}

std::optional<Error> Hub::impossible(const Gather& gather) const {
  for (std::size_t rank = 0; rank < world(); ++rank) {
    const Member& member = members_[rank];
    if (gather.parts[rank]) continue;
    if (member.presence != Presence::lost && member.presence != Presence::left) continue;
    return Error{Status::peer_lost,
                 fmt::format("{}: {} {}", gather.what, name(static_cast<int>(rank)),
                             member.presence == Presence::lost ? member.how : "has left")};
  }
  return std::nullopt;
}

void Hub::fail_gathers_without(int rank) {
  std::vector<std::uint64_t> sequences;
  for (auto& [sequence, gather] : gathers_) {
    auto& part = gather.parts[static_cast<std::size_t>(rank)];
    // In a rendezvous, a rank that died after its part came is missed as well: the others would
    // only find out later, and with less to say.
    if (is_rendezvous()) part.reset();
    if (!part) sequences.push_back(sequence);
  }
  for (const std::uint64_t sequence : sequences) {
    const auto found = gathers_.find(sequence);
    if (found == gathers_.end()) continue;
    if (const auto error = impossible(found->second)) fail_gather(sequence, *error);
  }
}

void Hub::on_ask(int rank, std::uint64_t sequence, std::uint64_t patience_ms) {
  const std::uint64_t id = next_question_++;
  Question& question = questions_[id];
  question.asker = rank;
  question.asker_sequence = sequence;
  question.answers.resize(world());
  const auto patience =
      milliseconds(static_cast<std::int64_t>(std::min(patience_ms, kLongestPatienceMs)));
  question.timer = Reactor::instance().at(Clock::now() + patience, [this, id] {
    const auto keep = shared_from_this();
    finish_question(id);
  });
  const auto frame = encode(FrameType::question, id, {});
  for (std::size_t other = 0; other < world(); ++other) {
    Member& member = members_[other];
    // A stopped process would find a heap of questions when it goes on.
    if (member.presence != Presence::present || std::exchange(member.questioned, true)) continue;
    send(static_cast<int>(other), frame);
  }
}

void Hub::on_answer(int rank, std::uint64_t sequence, const AnswerMessage& answer) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  member.questioned = false;
  // The latest answer is good for every question that is open.
  (void)sequence;
  std::vector<std::uint64_t> done;
  for (auto& [id, question] : questions_) {
    question.answers[static_cast<std::size_t>(rank)] = answer;
    const bool waits =
        std::any_of(members_.begin(), members_.end(), [&, &question = question](const Member& m) {
          const auto index = static_cast<std::size_t>(&m - members_.data());
          return m.presence == Presence::present && !question.answers[index].answered;
        });
    if (!waits) done.push_back(id);
  }
  for (const std::uint64_t id : done) finish_question(id);
}

void Hub::finish_question(std::uint64_t id) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  send(found->second.asker,
       encode(FrameType::answers, found->second.asker_sequence, encode(found->second.answers)));
  questions_.erase(found);
}

}  // namespace gyre
