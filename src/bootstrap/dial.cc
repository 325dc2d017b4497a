#include "bootstrap/dial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/process.hpp"
#include "base/settings.hpp"
#include "bootstrap/socket_util.hpp"

namespace gyre {
namespace {

constexpr milliseconds kStagger{50};      // before the next candidate is tried as well
constexpr milliseconds kFirstBackoff{2};  // before a failed candidate is tried again
constexpr milliseconds kLastBackoff{100};
constexpr milliseconds kAbortPoll{20};
constexpr std::size_t kDialDescriptors = 16;

enum class Stage : std::uint8_t { waiting, connecting, challenge, welcome, failed };

// One candidate's present connection, a small state machine driven by poll(2).
struct Attempt {
  Address address;
  Stage stage = Stage::waiting;
  Fd fd;
  Clock::time_point wake;  // waiting: when to start; later: when to give this connection up
  milliseconds backoff = kFirstBackoff;
  Opening opening;
  Challenge challenge;
  std::array<std::byte, kChallengeBytes> buffer{};
  std::size_t filled = 0;
  std::string problem = "not tried";
};

std::string text_of_errno(int error) { return std::generic_category().message(error); }

class Dialer {
 public:
  Dialer(std::span<const Address> candidates, const JobKey& key, const Hello& hello, bool patient)
      : key_(key), hello_(hello), patient_(patient) {
    limit_ = milliseconds(settings() ? settings()->handshake_timeout_ms
                                     : Settings{}.handshake_timeout_ms);
    auto start = Clock::now();
    for (const Address& address : candidates) {
      attempts_.push_back({});
      attempts_.back().address = address;
      attempts_.back().wake = start;
      start += kStagger;
    }
  }

  Result<Fd> run(Deadline deadline, const AbortState* abort);

 private:
  Result<void> start(Attempt& attempt);
  void fail(Attempt& attempt, std::string problem);
  void advance(Attempt& attempt);
  void finish_connect(Attempt& attempt);
  bool receive(Attempt& attempt, std::size_t bytes);
  void prove(Attempt& attempt);
  void wait(Deadline deadline, bool abortable);
  bool hopeless() const;
  Error give_up(Status status, std::string_view why) const;

  const JobKey& key_;
  const Hello& hello_;
  bool patient_;
  milliseconds limit_;
  std::vector<Attempt> attempts_;
  std::optional<Fd> won_;
  Attempt* chosen_ = nullptr;  // the only one that sent its proof
};

void Dialer::fail(Attempt& attempt, std::string problem) {
  attempt.problem = std::move(problem);
  attempt.fd.reset();
  attempt.stage = patient_ ? Stage::waiting : Stage::failed;
  attempt.wake = Clock::now() + attempt.backoff;
  attempt.backoff = std::min(2 * attempt.backoff, kLastBackoff);
  if (chosen_ == &attempt) chosen_ = nullptr;
  // The next candidate need not wait for its turn any longer.
  for (Attempt& other : attempts_) {
    if (other.stage == Stage::waiting && other.problem == "not tried") {
      other.wake = Clock::now();
      break;
    }
  }
}

// Fails if no candidate can ever be tried: the process may not have another descriptor.
Result<void> Dialer::start(Attempt& attempt) {
  attempt.fd = open_tcp_socket(attempt.address.family);
  if (!attempt.fd && errno == EMFILE) {
    GYRE_TRY(ensure_descriptors(kDialDescriptors));
    attempt.fd = open_tcp_socket(attempt.address.family);
  }
  if (!attempt.fd) {
    fail(attempt, text_of_errno(errno));
    return {};
  }
  set_no_delay(attempt.fd);
  attempt.problem = "no answer";
  attempt.wake = Clock::now() + limit_;
  attempt.filled = 0;
  sockaddr_storage storage{};
  const socklen_t length = attempt.address.to_sockaddr(storage);
  attempt.stage = Stage::connecting;
  // A connect that a signal interrupts goes on in the background, like one in progress.
  if (::connect(attempt.fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    fail(attempt, text_of_errno(errno));
  }
  return {};
}

void Dialer::finish_connect(Attempt& attempt) {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(attempt.fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    fail(attempt, text_of_errno(error));
    return;
  }
  // Dialing a free port of our own ephemeral range can connect a socket to itself.
  const auto own = local_address_of(attempt.fd);
  if (own && own->port == attempt.address.port && own->bytes == attempt.address.bytes) {
    fail(attempt, "nobody listens there");
    return;
  }
  attempt.opening.hello = hello_;
  attempt.opening.job = key_.nonce;
  fill_random(attempt.opening.dialer);
  const auto bytes = encode(attempt.opening);
  if (send_some(attempt.fd, std::as_bytes(std::span(bytes))).bytes != bytes.size()) {
    fail(attempt, "the connection broke before the handshake");
    return;
  }
  attempt.problem = "connected, but no answer to the handshake";
  attempt.stage = Stage::challenge;
}

// False if the connection ended; otherwise look at `filled`.
bool Dialer::receive(Attempt& attempt, std::size_t bytes) {
  while (attempt.filled < bytes) {
    const auto space = std::span(attempt.buffer).subspan(attempt.filled, bytes - attempt.filled);
    const IoResult got = receive_some(attempt.fd, space);
    if (got.state == IoState::again) return true;
    if (got.state == IoState::ended) {
      fail(attempt, got.error != 0 ? text_of_errno(got.error)
                                   : "connected, but that process does not expect this rank (yet), "
                                     "or belongs to another job");
      return false;
    }
    attempt.filled += got.bytes;
  }
  return true;
}

void Dialer::prove(Attempt& attempt) {
  std::array<std::uint8_t, kChallengeBytes> bytes{};
  std::memcpy(bytes.data(), attempt.buffer.data(), bytes.size());
  attempt.challenge = decode_challenge(bytes);
  if (!equal_macs(attempt.challenge.mac, handshake_mac(key_.secret, Label::accept, attempt.opening,
                                                       attempt.challenge.listener))) {
    fail(attempt, "the process there does not know this job's secret");
    return;
  }
  if (chosen_ != nullptr) return;  // its turn comes if the chosen one fails
  const Mac proof =
      handshake_mac(key_.secret, Label::dial, attempt.opening, attempt.challenge.listener);
  if (send_some(attempt.fd, std::as_bytes(std::span(proof))).bytes != proof.size()) {
    fail(attempt, "the connection broke during the handshake");
    return;
  }
  chosen_ = &attempt;
  attempt.stage = Stage::welcome;
  attempt.filled = 0;
}

void Dialer::advance(Attempt& attempt) {
  if (attempt.stage == Stage::connecting) finish_connect(attempt);
  if (attempt.stage == Stage::challenge) {
    if (receive(attempt, kChallengeBytes) && attempt.filled == kChallengeBytes) prove(attempt);
  }
  if (attempt.stage == Stage::welcome && receive(attempt, kWelcomeBytes) &&
      attempt.filled == kWelcomeBytes) {
    Mac welcome{};
    std::memcpy(welcome.data(), attempt.buffer.data(), welcome.size());
    if (equal_macs(welcome, handshake_mac(key_.secret, Label::welcome, attempt.opening,
                                          attempt.challenge.listener))) {
      won_ = std::move(attempt.fd);
    } else {
      fail(attempt, "the process there does not know this job's secret");
    }
  }
}

void Dialer::wait(Deadline deadline, bool abortable) {
  auto until = Clock::now() + (abortable ? kAbortPoll : milliseconds(1000));
  std::vector<pollfd> fds;
  std::vector<Attempt*> owners;
  for (Attempt& attempt : attempts_) {
    if (attempt.stage == Stage::failed) continue;
    until = std::min(until, attempt.wake);
    // A second connection whose challenge is here already has nothing to wait for but its turn.
    const bool parked = attempt.stage == Stage::challenge && attempt.filled == kChallengeBytes;
    if (attempt.stage == Stage::waiting || (parked && chosen_ != nullptr)) continue;
    if (parked) until = Clock::now();
    const short events = attempt.stage == Stage::connecting ? POLLOUT : POLLIN;
    fds.push_back({attempt.fd.get(), events, 0});
    owners.push_back(&attempt);
  }
  if (!deadline.is_never()) until = std::min(until, deadline.at());
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  ::poll(fds.data(), fds.size(), static_cast<int>(std::max(left, milliseconds(0)).count()));
  for (std::size_t i = 0; i < fds.size() && !won_; ++i) {
    const bool parked =
        owners[i]->stage == Stage::challenge && owners[i]->filled == kChallengeBytes;
    if (fds[i].revents != 0 || parked) advance(*owners[i]);
  }
}

bool Dialer::hopeless() const {
  return std::all_of(attempts_.begin(), attempts_.end(),
                     [](const Attempt& a) { return a.stage == Stage::failed; });
}

Error Dialer::give_up(Status status, std::string_view why) const {
  std::vector<std::string> tried;
  for (const Attempt& attempt : attempts_) {
    tried.push_back(fmt::format("{} ({})", attempt.address.text(), attempt.problem));
  }
  return {status, fmt::format("could not reach rank {} for {}: {}; tried {}", hello_.to_rank,
                              name_of(hello_.purpose), why,
                              tried.empty() ? "nothing: it has no address that this host may use"
                                            : fmt::format("{}", fmt::join(tried, ", ")))};
}

Result<Fd> Dialer::run(Deadline deadline, const AbortState* abort) {
  if (attempts_.empty()) return give_up(Status::system, "no address");
  for (;;) {
    if (abort != nullptr && abort->raised()) return abort->reason();
    if (deadline.expired()) return give_up(Status::timeout, "the deadline passed");
    const auto now = Clock::now();
    for (Attempt& attempt : attempts_) {
      if (attempt.stage == Stage::failed || now < attempt.wake) continue;
      // While one connection waits for its welcome, no new ones are opened.
      if (attempt.stage == Stage::waiting && chosen_ == nullptr) {
        GYRE_TRY(start(attempt));
      } else if (attempt.stage == Stage::waiting) {
        attempt.wake = now + kStagger;
      } else {
        fail(attempt, attempt.problem);
      }
    }
    if (hopeless()) return give_up(Status::system, "no candidate worked");
    wait(deadline, abort != nullptr);
    if (won_) return *std::move(won_);
  }
}

}  // namespace

Result<Fd> dial(std::span<const Address> candidates, const JobKey& key, const Hello& hello,
                Deadline deadline, const AbortState* abort, bool patient) {
  return Dialer(candidates, key, hello, patient).run(deadline, abort);
}

}  // namespace gyre
