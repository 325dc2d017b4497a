#include "tests/fault/puppet.hpp"

#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gyre/gyre.hpp"
#include "tests/fault/calls.hpp"
#include "tests/fault/faults.hpp"
#include "tests/fault/observe.hpp"
#include "tests/fault/outcome.hpp"

namespace gyre::test {
namespace {

using Clock = std::chrono::steady_clock;

class Puppet {
 public:
  Puppet(int rank, int world) : rank_(rank), world_(world) {
    register_openings();
    register_calls();
    register_faults();
  }
  int run();

 private:
  using Arguments = std::istringstream;
  using Verb = std::function<Outcome(const std::string& tag, Arguments&)>;

  void register_openings();
  void register_calls();
  void register_faults();
  void execute(const std::string& tag, const std::string& verb, const std::string& rest);
  void report(const std::string& tag, const Outcome& outcome, Clock::time_point since);

  ncclComm_t top() const { return comms_.empty() ? nullptr : comms_.back(); }
  Outcome init(const std::string& id, bool blocking);
  Outcome end(ncclResult_t (*how)(ncclComm_t));
  Outcome poll_until_settled();
  Outcome loop(const std::string& tag, const std::function<Outcome()>& round);
  Outcome split(int color);
  Outcome make_and_use(std::size_t count);
  Outcome rounds_of_life(int rounds, std::size_t count, bool with_split);

  const int rank_;
  const int world_;
  std::vector<ncclComm_t> comms_;
  std::map<std::string, Verb> verbs_;
  std::mutex reporting_;
  std::vector<std::jthread> threads_;
};

int Puppet::run() {
  std::signal(SIGALRM, [](int) {});
  std::string unread;
  char bytes[4096];
  for (;;) {
    const ssize_t got = ::read(kCommandsFd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(0);
    unread.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t end = unread.find('\n'); end != std::string::npos; end = unread.find('\n')) {
      std::istringstream line(unread.substr(0, end));
      unread.erase(0, end + 1);
      std::string tag;
      std::string verb;
      std::string rest;
      line >> tag >> verb;
      std::getline(line, rest);
      if (verb.starts_with("&")) {
        threads_.emplace_back(
            [this, tag, name = verb.substr(1), rest] { execute(tag, name, rest); });
      } else {
        execute(tag, verb, rest);
      }
    }
  }
}

void Puppet::execute(const std::string& tag, const std::string& verb, const std::string& rest) {
  const Clock::time_point since = Clock::now();
  const auto found = verbs_.find(verb);
  Arguments arguments(rest);
  report(tag,
         found == verbs_.end() ? wrong("no such command: " + verb) : found->second(tag, arguments),
         since);
}

void Puppet::report(const std::string& tag, const Outcome& outcome, Clock::time_point since) {
  const Clock::time_point now = Clock::now();
  std::ostringstream line;
  std::string text = outcome.text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  line << tag << ' ' << outcome.code << ' '
       << std::chrono::duration_cast<std::chrono::microseconds>(now - since).count() << ' '
       << now.time_since_epoch().count() << ' ' << text << '\n';
  const std::string bytes = line.str();
  const std::lock_guard lock(reporting_);
  while (::write(kReportsFd, bytes.data(), bytes.size()) < 0 && errno == EINTR) {
  }
}

Outcome Puppet::init(const std::string& id, bool blocking) {
  const ncclUniqueId unique = unhex(id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking ? 1 : 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t code = ncclCommInitRankConfig(&comm, world_, unique, rank_, &config);
  if (code == ncclSuccess || code == ncclInProgress) comms_.push_back(comm);
  return outcome_of(code);
}

Outcome Puppet::end(ncclResult_t (*how)(ncclComm_t)) {
  if (comms_.empty()) return wrong("there is no communicator");
  ncclComm_t comm = comms_.back();
  comms_.pop_back();
  return outcome_of(how(comm));
}

Outcome Puppet::poll_until_settled() { return settle(top()); }

// Repeats the round until it fails; reports "TAG.entered" after the first.
Outcome Puppet::loop(const std::string& tag, const std::function<Outcome()>& round) {
  for (bool first = true;; first = false) {
    const Outcome outcome = round();
    if (outcome.code != 0) return outcome;
    if (first) report(tag + ".entered", {}, Clock::now());
  }
}

Outcome Puppet::split(int color) {
  ncclComm_t parent = top();
  ncclComm_t child = nullptr;
  ncclResult_t code = ncclCommSplit(parent, color, rank_, &child, nullptr);
  if (code == ncclInProgress) {
    const Outcome settled = settle(parent);
    if (settled.code != 0) return settled;
  } else if (code != ncclSuccess) {
    return outcome_of(code);
  }
  if (child == nullptr) return wrong("the split gave no communicator");
  comms_.push_back(child);
  return poll_until_settled();
}

// A new communicator over all ranks, one all-reduce, and its end at once.
Outcome Puppet::make_and_use(std::size_t count) {
  ncclUniqueId id{};
  if (rank_ == 0 && ncclGetUniqueId(&id) != ncclSuccess) return outcome_of(ncclSystemError);
  ncclResult_t code = ncclBroadcast(&id, &id, sizeof id, ncclInt8, 0, top(), nullptr);
  if (code != ncclSuccess) return outcome_of(code);
  ncclComm_t comm = nullptr;
  code = ncclCommInitRank(&comm, world_, id, rank_);
  if (code != ncclSuccess) return outcome_of(code);
  Outcome outcome = all_reduce(comm, count);
  code = ncclCommDestroy(comm);
  if (outcome.code == 0) outcome = outcome_of(code);
  return outcome;
}

// Communicators made, used and destroyed; what they need must not grow after the first rounds.
Outcome Puppet::rounds_of_life(int rounds, std::size_t count, bool with_split) {
  constexpr int kWarmUp = 50;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kNoiseKib = 64 << 10;  // they keep what was freed, and shadows of it
#else
  constexpr std::size_t kNoiseKib = 4 << 10;
#endif
  Usage before;
  for (int i = 0; i < rounds; ++i) {
    if (i == std::min(kWarmUp, rounds / 2)) before = usage();
    Outcome outcome = make_and_use(count);
    if (outcome.code == 0 && with_split && i % 4 == 0) {
      outcome = split(rank_ % 2);
      if (outcome.code == 0) outcome = all_reduce(top(), count);
      if (outcome.code == 0) outcome = end(ncclCommDestroy);
    }
    if (outcome.code != 0) {
      outcome.text = "round " + std::to_string(i) + ": " + outcome.text;
      return outcome;
    }
  }
  const Usage after = usage();
  std::ostringstream text;
  text << "descriptors " << before.descriptors << " -> " << after.descriptors << ", threads "
       << before.threads << " -> " << after.threads << ", resident " << before.resident_kib
       << " -> " << after.resident_kib << " KiB";
  // Connections may linger a moment after a destroy, in either count.
  const std::size_t lingering = 6 * static_cast<std::size_t>(world_);
  const bool flat = after.descriptors <= before.descriptors + lingering &&
                    after.threads <= before.threads &&
                    after.resident_kib <= before.resident_kib + kNoiseKib;
  return {flat ? 0 : kWrong, text.str()};
}

void Puppet::register_openings() {
  verbs_["id"] = [](const std::string&, Arguments&) -> Outcome {
    ncclUniqueId id{};
    const ncclResult_t code = ncclGetUniqueId(&id);
    return code == ncclSuccess ? Outcome{0, hex(id)} : outcome_of(code);
  };
  verbs_["init"] = [this](const std::string&, Arguments& arguments) {
    std::string id;
    std::string mode;
    arguments >> id >> mode;
    return init(id, mode != "nonblocking");
  };
  // The id that NCCL_COMM_ID stands for.
  verbs_["init_fixed"] = [this](const std::string&, Arguments&) -> Outcome {
    ncclUniqueId id{};
    const ncclResult_t code = ncclGetUniqueId(&id);
    return code == ncclSuccess ? init(hex(id), true) : outcome_of(code);
  };
  verbs_["join"] = [this](const std::string&, Arguments& arguments) -> Outcome {
    std::string url;
    arguments >> url;
    try {
      comms_.push_back(gyre::init(url));
      return {};
    } catch (const Failure& failure) {
      return {failure.code(), failure.what()};
    }
  };
  verbs_["settle"] = [this](const std::string&, Arguments&) { return poll_until_settled(); };
  verbs_["await_joined"] = [](const std::string&, Arguments&) { return await_joined(); };
  verbs_["await_listening"] = [](const std::string&, Arguments& arguments) {
    unsigned port = 0;
    arguments >> port;
    return await_listening(port);
  };
}

void Puppet::register_calls() {
  verbs_["async_error"] = [this](const std::string&, Arguments&) -> Outcome {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(top(), &state);
    return asked != ncclSuccess ? outcome_of(asked) : Outcome{state, ""};
  };
  verbs_["all_reduce"] = [this](const std::string&, Arguments& arguments) {
    std::size_t count = 0;
    arguments >> count;
    return all_reduce(top(), count);
  };
  verbs_["send"] = [this](const std::string&, Arguments& arguments) {
    int peer = 0;
    std::size_t count = 0;
    arguments >> peer >> count;
    const std::vector<float> values(count, 1.0F);
    return outcome_of(ncclSend(values.data(), count, ncclFloat32, peer, top(), nullptr));
  };
  // COLLECTIVE COUNT TYPE OPERATION ROOT; what does not apply is ignored.
  verbs_["call"] = [this](const std::string&, Arguments& arguments) {
    return call_untouched(top(), parse_call(arguments), world_);
  };
  verbs_["split"] = [this](const std::string&, Arguments& arguments) {
    int color = 0;
    arguments >> color;
    return split(color);
  };
  verbs_["finalize"] = [this](const std::string&, Arguments&) {
    return outcome_of(ncclCommFinalize(top()));
  };
  verbs_["destroy"] = [this](const std::string&, Arguments&) { return end(ncclCommDestroy); };
  verbs_["abort"] = [this](const std::string&, Arguments&) { return end(ncclCommAbort); };
  verbs_["await_blocked"] = [](const std::string&, Arguments&) { return await_blocked(); };
}

void Puppet::register_faults() {
  verbs_["loop"] = [this](const std::string& tag, Arguments& arguments) {
    std::size_t count = 0;
    arguments >> count;
    return loop(tag, [this, count] { return all_reduce(top(), count); });
  };
  verbs_["messages"] = [this](const std::string& tag, Arguments& arguments) {
    std::size_t count = 0;
    arguments >> count;
    return loop(tag, [this, count] { return pass_on(top(), rank_, world_, count); });
  };
  verbs_["repeat"] = [this](const std::string& tag, Arguments& arguments) -> Outcome {
    int times = 0;
    std::string verb;
    std::string rest;
    arguments >> times >> verb;
    std::getline(arguments, rest);
    Outcome outcome;
    for (int i = 0; i < times && outcome.code == 0; ++i) {
      Arguments again(rest);
      outcome = verbs_.at(verb)(tag, again);
    }
    return outcome;
  };
  verbs_["lives"] = [this](const std::string&, Arguments& arguments) {
    int rounds = 0;
    std::size_t count = 0;
    std::string split;
    arguments >> rounds >> count >> split;
    return rounds_of_life(rounds, count, split == "split");
  };
  // The process ends right after the call, without another word to the library.
  verbs_["last_call"] = [this](const std::string&, Arguments& arguments) -> Outcome {
    std::size_t count = 0;
    std::string how;
    arguments >> count >> how;
    const Outcome outcome = all_reduce(top(), count);
    if (outcome.code != 0) std::fprintf(stderr, "rank %d: %s\n", rank_, outcome.text.c_str());
    if (how == "at_once") ::_exit(outcome.code);
    std::exit(outcome.code);
  };
  verbs_["quit"] = [](const std::string&, Arguments&) -> Outcome { std::exit(0); };
  verbs_["fork"] = [this](const std::string&, Arguments& arguments) {
    std::string what;
    arguments >> what;
    return in_forked_child(what, top());
  };
  verbs_["storm"] = [](const std::string&, Arguments& arguments) { return storm(arguments); };
  verbs_["limit_descriptors"] = [](const std::string&, Arguments& arguments) {
    return limit_descriptors(arguments);
  };
  verbs_["limit_memory"] = [](const std::string&, Arguments& arguments) {
    return limit_memory(arguments);
  };
}

}  // namespace

int puppet_main(int rank, int world) { return Puppet(rank, world).run(); }

}  // namespace gyre::test
