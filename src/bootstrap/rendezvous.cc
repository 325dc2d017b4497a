#include "bootstrap/rendezvous.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <optional>

#include "base/log.hpp"
#include "base/process.hpp"
#include "bootstrap/derive_key.hpp"
#include "bootstrap/dial.hpp"
#include "bootstrap/hub.hpp"
#include "bootstrap/last_words.hpp"
#include "bootstrap/socket_util.hpp"
#include "bootstrap/spoke.hpp"
#include "bootstrap/wire.hpp"

namespace gyre {
namespace {

constexpr milliseconds kStaleDial{2000};  // for the answer of a root that may be long gone
constexpr milliseconds kReadAgain{20};
constexpr milliseconds kNewId{2000};  // how long a rank whose meeting failed looks for another id

// Where rank 0 listens, so that every address the name stands for on any host is answered.
Address own_side_of(const std::vector<Address>& named) {
  const bool v6 = std::any_of(named.begin(), named.end(),
                              [](const Address& address) { return address.family == AF_INET6; });
  const int family = v6 && open_tcp_socket(AF_INET6) ? AF_INET6 : AF_INET;
  return Address::any(family).with_port(named.front().port);
}

// How rank 0 reaches its own listener. One for both families is tried by both: a socket of IPv6
// opens also where no interface has an address of it, loopback included.
std::vector<Address> loopbacks_of(const Address& own) {
  std::vector<Address> candidates = {Address::loopback(own.family).with_port(own.port)};
  if (own.family == AF_INET6) candidates.push_back(Address::loopback(AF_INET).with_port(own.port));
  return candidates;
}

// Connects to the rendezvous as `rank`; rank 0 of an id with a fixed port serves it as well.
Result<Fd> reach(const UniqueId& id, int rank, int world, Deadline deadline,
                 const AbortState* abort, bool patient) {
  GYRE_TRY(refuse_in_child());
  if (world < 1 || rank < 0 || rank >= world || world > kMaxWorld) {
    return Error{Status::invalid_argument, fmt::format("rank {} of {} ranks", rank, world)};
  }
  GYRE_TRY_ASSIGN(const IdContents contents, decode(id));
  auto candidates = reachable(contents.root);
  if (contents.fixed_port && rank == 0) {
    const Address own = own_side_of(contents.root.addresses);
    GYRE_TRY(Hub::start({contents.key, Purpose::rendezvous, world, own}));
    candidates = loopbacks_of(own);
  }
  const Hello hello{Purpose::rendezvous, static_cast<std::uint32_t>(rank), 0, 0};
  auto fd = dial(candidates, contents.key, hello, deadline, abort, patient);
  if (!fd) {
    Error error = std::move(fd).error();
    error.text = fmt::format("rank {}: {}", rank, error.text);
    return error;
  }
  return fd;
}

struct Joined {
  std::unique_ptr<Attendance> attendance;  // gets the events of
  std::shared_ptr<Spoke> spoke;
};

Result<Joined> join(const UniqueId& id, int rank, int world, Deadline deadline,
                    const AbortState* abort, bool patient) {
  GYRE_TRY_ASSIGN(Fd fd, reach(id, rank, world, deadline, abort, patient));
  Joined joined;
  joined.attendance = std::make_unique<Attendance>();
  joined.spoke = Spoke::start(std::move(fd), rank, world, joined.attendance.get());
  joined.attendance->hold(joined.spoke);
  return joined;
}

Result<Meeting> gather_at(Joined joined, const UniqueId& id, std::span<const std::byte> facts,
                          Deadline deadline, const AbortState* abort) {
  // Rank 0's nonce tells this meeting from any other of the same key.
  Nonce nonce{};
  fill_random(nonce);
  WireWriter writer;
  writer.raw(std::span<const std::uint8_t>(nonce));
  writer.raw(facts);
  GYRE_TRY_ASSIGN(auto parts, joined.spoke->all_gather(writer.take(), "init", deadline, abort));
  Meeting meeting;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    auto& part = parts[rank];
    if (part.size() < nonce.size()) {
      return Error{Status::internal, fmt::format("rank {} sent malformed facts", rank)};
    }
    const auto facts_begin = part.begin() + static_cast<std::ptrdiff_t>(nonce.size());
    if (rank == 0) {
      const std::string_view label(reinterpret_cast<const char*>(part.data()), nonce.size());
      meeting.session = derive_key(decode(id)->key, label);
    }
    meeting.facts.emplace_back(facts_begin, part.end());
  }
  meeting.attendance = std::move(joined.attendance);
  return meeting;
}

Result<void> check_facts(int rank, std::span<const std::byte> facts) {
  if (facts.size() <= kMaxFactsBytes) return {};
  return Error{Status::invalid_usage, fmt::format("rank {}'s facts have {} bytes, {} are allowed",
                                                  rank, facts.size(), kMaxFactsBytes)};
}

}  // namespace

Result<Meeting> meet(const UniqueId& id, int rank, int world, std::span<const std::byte> facts,
                     Deadline deadline, const AbortState* abort) {
  GYRE_TRY(check_facts(rank, facts));
  GYRE_TRY_ASSIGN(Joined joined, join(id, rank, world, deadline, abort, true));
  return gather_at(std::move(joined), id, facts, deadline, abort);
}

Result<std::vector<std::vector<std::byte>>> rendezvous(const UniqueId& id, int rank, int world,
                                                       std::span<const std::byte> facts,
                                                       Deadline deadline, const AbortState* abort) {
  GYRE_TRY_ASSIGN(Meeting meeting, meet(id, rank, world, facts, deadline, abort));
  meeting.attendance->goodbye();
  return std::move(meeting.facts);
}

Result<Meeting> meet_at(const ReadId& read_id, int rank, int world,
                        std::span<const std::byte> facts, Deadline deadline,
                        const AbortState* abort) {
  GYRE_TRY(check_facts(rank, facts));
  std::optional<UniqueId> used;  // joined, and worth nothing since that failed
  Deadline until = deadline;
  Error last{Status::timeout, "there is no id yet"};
  for (;;) {
    if (abort != nullptr && abort->raised()) return abort->reason();
    const auto id = read_id();
    if (!id && id.status() != Status::busy) return id.error();
    if (id && used != *id) {
      const Deadline dial_until = deadline.earlier(Deadline::after(kStaleDial));
      if (auto joined = join(*id, rank, world, dial_until, abort, false)) {
        const std::shared_ptr<Spoke> spoke = joined->spoke;
        auto meeting = gather_at(*std::move(joined), *id, facts, deadline, abort);
        if (meeting) return meeting;
        used = *id;
        last = meeting.error();
        // Most likely this very run has failed; if it was an earlier one, the new id is not far.
        until = spoke->was_judged() ? deadline.earlier(Deadline::after(kNewId)) : deadline;
      } else {
        last = joined.error();
      }
    }
    if (used && until.expired()) return last;
    if (until.expired()) {
      return Error{Status::timeout, fmt::format("rank {} met nobody: {}", rank, last.text)};
    }
    ::poll(nullptr, 0, until.poll_timeout(kReadAgain));
  }
}

Result<void> report_failure(const UniqueId& id, int rank, int world, const Error& error,
                            Deadline deadline) {
  GYRE_TRY_ASSIGN(const Fd fd, reach(id, rank, world, deadline, nullptr, true));
  return say_last_words(fd, rank, world, error, deadline);
}

}  // namespace gyre
