#include "tests/fault/puppet.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <nccl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gyre/gyre.hpp"

namespace gyre::test {
namespace {

using Clock = std::chrono::steady_clock;

// How long the puppet itself waits for something to come true.
constexpr std::chrono::seconds kPatience{30};

struct Outcome {
  int code = 0;
  std::string text;
};

Outcome outcome_of(ncclResult_t code) {
  return {code, code == ncclSuccess ? "" : ncclGetLastError(nullptr)};
}

Outcome wrong(std::string text) { return {kWrong, std::move(text)}; }

std::string hex(const ncclUniqueId& id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : id.internal) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

ncclUniqueId unhex(const std::string& text) {
  ncclUniqueId id{};
  for (std::size_t i = 0; i < sizeof id && 2 * i + 1 < text.size(); ++i) {
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator{}));
}

struct Usage {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t resident_kib = 0;
};

Usage usage() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return {entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
          resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024};
}

std::size_t mapped_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Until this process listens at the port.
Outcome await_listening(unsigned port) {
  const Clock::time_point until = Clock::now() + kPatience;
  while (Clock::now() < until) {
    for (int fd = kReportsFd + 1; fd < 256; ++fd) {
      int listening = 0;
      socklen_t length = sizeof listening;
      sockaddr_in6 address{};  // large enough for both families, with the port at one place
      socklen_t address_length = sizeof address;
      if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0 &&
          ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &address_length) == 0 &&
          ntohs(address.sin6_port) == port) {
        return {};
      }
    }
    std::this_thread::yield();
  }
  return wrong("nobody listens");
}

// Until more than a handshake and a greeting of this process has reached another one over TCP.
Outcome await_joined() {
  constexpr std::uint64_t kHandshakeAndGreeting = 250;
  const Clock::time_point until = Clock::now() + kPatience;
  while (Clock::now() < until) {
    for (int fd = kReportsFd + 1; fd < 256; ++fd) {
      tcp_info info{};
      socklen_t length = sizeof info;
      if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
          info.tcpi_bytes_acked >= kHandshakeAndGreeting) {
        return {};
      }
    }
    std::this_thread::yield();
  }
  return wrong("nothing was sent");
}

class Puppet {
 public:
  Puppet(int rank, int world) : rank_(rank), world_(world) { register_verbs(); }
  int run();

 private:
  using Arguments = std::istringstream;
  using Verb = std::function<Outcome(const std::string& tag, Arguments&)>;

  void register_verbs();
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
  Outcome in_forked_child(const std::string& what);

  const int rank_;
  const int world_;
  std::vector<ncclComm_t> comms_;
  std::map<std::string, Verb> verbs_;
  std::mutex reporting_;
  std::vector<std::jthread> threads_;
};

float input_of(int rank, std::size_t index) {
  return static_cast<float>(rank + 1) + static_cast<float>(index % 7);
}

Outcome check_sum(const std::vector<float>& values, int world) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float right = static_cast<float>(world * (world + 1) / 2) +
                        static_cast<float>(world) * static_cast<float>(i % 7);
    if (values[i] != right) {
      return wrong("element " + std::to_string(i) + " is " + std::to_string(values[i]) +
                   " and not " + std::to_string(right));
    }
  }
  return {};
}

Outcome settle(ncclComm_t comm) {
  const Clock::time_point until = Clock::now() + kPatience;
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
    if (asked != ncclSuccess) return outcome_of(asked);
    if (Clock::now() > until) return wrong("still in progress");
    std::this_thread::yield();
  }
  return {state, state == ncclSuccess ? "" : "asynchronous error"};
}

// The thread that is in an all-reduce, for those who want to act while it waits there.
std::atomic<pid_t> caller{0};

bool sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "S") == 0;
}

// Until the thread in a call has been asleep for a row of looks: it waits for a peer.
Outcome await_blocked() {
  constexpr int kLooks = 20;
  const Clock::time_point until = Clock::now() + kPatience;
  for (int asleep = 0; asleep < kLooks;) {
    if (Clock::now() > until) return wrong("no call waits");
    const pid_t thread = caller.load();
    asleep = thread != 0 && sleeps(thread) ? asleep + 1 : 0;
    std::this_thread::yield();
  }
  return {};
}

// One all-reduce whose result is looked at.
Outcome all_reduce(ncclComm_t comm, std::size_t count) {
  int rank = 0;
  int world = 0;
  ncclResult_t asked = ncclCommUserRank(comm, &rank);
  if (asked == ncclSuccess) asked = ncclCommCount(comm, &world);
  if (asked != ncclSuccess) return outcome_of(asked);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = input_of(rank, i);
  caller = ::gettid();
  const ncclResult_t code =
      ncclAllReduce(values.data(), values.data(), count, ncclFloat32, ncclSum, comm, nullptr);
  caller = 0;
  if (code == ncclInProgress) {
    const Outcome settled = settle(comm);
    if (settled.code != 0) return settled;
  } else if (code != ncclSuccess) {
    return outcome_of(code);
  }
  return check_sum(values, world);
}

struct CallWords {
  std::string collective;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;
};

CallWords parse_call(std::istream& words) {
  static const std::map<std::string, ncclDataType_t> types = {
      {"int8", ncclInt8}, {"int32", ncclInt32}, {"float32", ncclFloat32}, {"float64", ncclFloat64}};
  static const std::map<std::string, ncclRedOp_t> ops = {
      {"sum", ncclSum}, {"max", ncclMax}, {"avg", ncclAvg}};
  CallWords call;
  std::string type;
  std::string op;
  words >> call.collective >> call.count >> type >> op >> call.root;
  call.type = types.at(type);
  call.op = ops.at(op);
  return call;
}

ncclResult_t issue(const CallWords& call, const void* in, void* out, ncclComm_t comm) {
  const auto& [name, count, type, op, root] = call;
  if (name == "all_reduce") return ncclAllReduce(in, out, count, type, op, comm, nullptr);
  if (name == "reduce") return ncclReduce(in, out, count, type, op, root, comm, nullptr);
  if (name == "broadcast") return ncclBroadcast(in, out, count, type, root, comm, nullptr);
  if (name == "all_gather") return ncclAllGather(in, out, count, type, comm, nullptr);
  if (name == "reduce_scatter") return ncclReduceScatter(in, out, count, type, op, comm, nullptr);
  if (name == "all_to_all") return ncclAlltoAll(in, out, count, type, comm, nullptr);
  if (name == "gather") return ncclGather(in, out, count, type, root, comm, nullptr);
  if (name == "scatter") return ncclScatter(in, out, count, type, root, comm, nullptr);
  return ncclInvalidArgument;
}

// Any collective, over zeros; one that fails must not have written a byte.
Outcome call_untouched(ncclComm_t comm, const CallWords& call, int world) {
  constexpr std::size_t kLargestElement = 8;
  constexpr std::byte kUntouched{0xa5};
  const std::size_t bytes = call.count * static_cast<std::size_t>(world) * kLargestElement + 1;
  const std::vector<std::byte> input(bytes);
  std::vector<std::byte> output(bytes, kUntouched);
  const Outcome outcome = outcome_of(issue(call, input.data(), output.data(), comm));
  const bool touched =
      std::any_of(output.begin(), output.end(), [&](std::byte byte) { return byte != kUntouched; });
  return outcome.code != 0 && touched ? wrong("wrote although: " + outcome.text) : outcome;
}

// Every rank sends to the next and receives from the one before.
Outcome pass_on(ncclComm_t comm, int rank, int world, std::size_t count) {
  std::vector<float> out(count, static_cast<float>(rank));
  std::vector<float> in(count, -1);
  const int before = (rank + world - 1) % world;
  ncclGroupStart();
  ncclSend(out.data(), count, ncclFloat32, (rank + 1) % world, comm, nullptr);
  ncclRecv(in.data(), count, ncclFloat32, before, comm, nullptr);
  const ncclResult_t code = ncclGroupEnd();
  if (code != ncclSuccess) return outcome_of(code);
  const bool right = std::all_of(in.begin(), in.end(),
                                 [&](float value) { return value == static_cast<float>(before); });
  return right ? Outcome{} : wrong("the message is not the sender's");
}

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
  constexpr std::size_t kNoiseKib = 4096;
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

Outcome Puppet::in_forked_child(const std::string& what) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(10);  // a child that hangs is a failure with a signal
    std::signal(SIGALRM, SIG_DFL);
    if (what == "exit") ::_exit(0);
    if (what == "linger") {
      ::alarm(0);
      ::prctl(PR_SET_PDEATHSIG, 0);
      // Its own pipe ends are all it may share with the parent.
      ::close(kReportsFd);
      char byte = 0;
      while (::read(kCommandsFd, &byte, 1) > 0) {
      }
      ::_exit(0);
    }
    if (what == "handlers") std::exit(0);
    if (what == "exec") {
      ::execl("/bin/true", "true", nullptr);
      ::_exit(1);
    }
    if (what == "call") {
      float value = 1;
      const ncclResult_t code =
          ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, top(), nullptr);
      const ncclResult_t destroyed = ncclCommDestroy(top());
      ncclUniqueId id;
      const ncclResult_t made = ncclGetUniqueId(&id);
      const bool refused =
          code == ncclInvalidUsage && destroyed == ncclInvalidUsage && made == ncclInvalidUsage;
      ::_exit(refused ? 0 : 1);
    }
    ::_exit(2);
  }
  if (what == "linger") return {};
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return {};
  return wrong("the child's status is " + std::to_string(status));
}

void Puppet::register_verbs() {
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
  register_faults();
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
    return in_forked_child(what);
  };
  // A signal every millisecond, with a handler that makes system calls fail with EINTR.
  verbs_["storm"] = [](const std::string&, Arguments& arguments) -> Outcome {
    long interval_us = 0;
    arguments >> interval_us;
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval timer{{0, interval_us}, {0, interval_us}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
    return {};
  };
  verbs_["limit_descriptors"] = [](const std::string&, Arguments& arguments) -> Outcome {
    rlimit limit{};
    arguments >> limit.rlim_cur >> limit.rlim_max;
    if (limit.rlim_max == 0) {
      rlimit now{};
      ::getrlimit(RLIMIT_NOFILE, &now);
      limit.rlim_max = now.rlim_max;
    }
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? Outcome{} : wrong("setrlimit");
  };
  // From now on the process gets this much more memory and not a byte beyond; -1: all it asks for.
  verbs_["limit_memory"] = [](const std::string&, Arguments& arguments) -> Outcome {
    long kib = 0;
    arguments >> kib;
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = kib < 0 ? limit.rlim_max : mapped_bytes() + (static_cast<rlim_t>(kib) << 10);
    return ::setrlimit(RLIMIT_AS, &limit) == 0 ? Outcome{} : wrong("setrlimit");
  };
}

}  // namespace

int puppet_main(int rank, int world) { return Puppet(rank, world).run(); }

}  // namespace gyre::test
