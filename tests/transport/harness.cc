#include "tests/transport/harness.hpp"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bootstrap/handshake.hpp"
#include "transport/direct/direct.hpp"
#include "transport/hook/hook.hpp"
#include "transport/shm/shm.hpp"
#include "transport/socket/socket.hpp"

namespace gyre::test {
namespace {

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "harness: %s\n", why.c_str());
  std::abort();
}

template <typename T>
T must(Result<T> result) {
  if (!result) die(result.error().text);
  return *std::move(result);
}

std::unique_ptr<Transport> make(const Kind& kind, const TransportContext& context) {
  std::unique_ptr<Transport> made;
  if (kind.name == "direct") made = make_direct(context);
  if (kind.name == "shm") made = make_shm(context);
  if (kind.name == "socket") made = make_socket(context);
  if (made == nullptr) die("no such transport: " + kind.name);
  return kind.hook.empty() ? std::move(made) : make_hook(std::move(made), kind.hook, context);
}

std::size_t entries(const char* folder) {
  DIR* directory = ::opendir(folder);
  if (directory == nullptr) die("cannot list /proc");
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(directory);
  return count;
}

void write_all(int fd, const void* data, std::size_t bytes) {
  if (::send(fd, data, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) die("child: write");
}

bool read_all(int fd, void* data, std::size_t bytes) {
  return ::recv(fd, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// Gives mine to the other side, returns its.
Blob swap_blobs(int control, const Blob& mine) {
  std::uint64_t bytes = mine.size();
  write_all(control, &bytes, sizeof bytes);
  write_all(control, mine.data(), mine.size());
  if (!read_all(control, &bytes, sizeof bytes)) die("the other process ended");
  Blob theirs(bytes);
  if (bytes > 0 && !read_all(control, theirs.data(), bytes)) die("the other process ended");
  return theirs;
}

bool join_over(Node& node, int control) {
  const int peer = 1 - node.rank;
  const auto verdicts = join(
      node,
      [&](const Blob& mine) {
        std::vector<Blob> blobs(2);
        blobs[static_cast<std::size_t>(node.rank)] = mine;
        blobs[static_cast<std::size_t>(peer)] = swap_blobs(control, mine);
        return blobs;
      },
      [&](const std::vector<bool>& mine) {
        Blob verdict(1, std::byte{static_cast<std::uint8_t>(mine.empty() ? 0 : mine[0])});
        const Blob theirs = swap_blobs(control, verdict);
        return std::vector<bool>(mine.size(), verdict[0] == std::byte{1} && theirs == verdict);
      });
  return !verdicts.empty() && verdicts[0];
}

}  // namespace

void Losses::lost(int peer, std::string how) {
  const std::lock_guard lock(mutex_);
  how_.emplace(peer, std::move(how));
  changed_.notify_all();
}

std::optional<std::string> Losses::of(int peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = how_.find(peer);
  return found == how_.end() ? std::nullopt : std::optional(found->second);
}

bool Losses::await(int peer, Deadline deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline.at(), [&] { return how_.contains(peer); });
}

Settings small_settings() {
  Settings settings;
  settings.slots = 4;
  settings.slot_bytes = 64 << 10;
  settings.zero_copy_bytes = 4 << 10;
  return settings;
}

Node::Node(int rank_in, int world_in, const JobKey& key, const Kind& kind, Settings settings_in)
    : settings(std::move(settings_in)), rank(rank_in), world(world_in) {
  bell_segment = must(create_segment(page_size()));
  bell_memory = must(Mapping::shared(bell_segment, page_size()));
  bell.emplace(must(BellEnd::create(reinterpret_cast<BellWord*>(bell_memory.data()))));
  settings.socket_streams = kind.streams;
  TransportContext context;
  context.rank = rank;
  context.world = world;
  context.key = key;
  context.settings = &settings;
  context.abort = &abort;
  context.bell = &*bell;
  context.bell_segment = &bell_segment;
  context.events = &losses;
  transport = make(kind, context);
}

Node::~Node() {
  if (transport != nullptr) transport->close(false);
}

bool Node::drive(const std::function<bool()>& done, Deadline deadline) {
  const auto sweep = [&] {
    if (!transport->polls()) return false;
    const auto moved = transport->poll();
    if (!moved) die(moved.error().text);
    return *moved;
  };
  for (;;) {
    if (done()) return true;
    if (sweep()) continue;
    if (deadline.expired() || abort.raised()) return false;
    bell->prepare(true);
    if (done()) {
      bell->cancel();
      return true;
    }
    if (sweep()) {
      bell->cancel();
      continue;
    }
    std::vector<pollfd> fds;
    transport->descriptors(fds);
    const BellEnd* bells[] = {&*bell};
    sleep_on(bells, fds, milliseconds(20));
  }
}

bool Node::send(int peer, const std::byte* data, std::uint64_t bytes, bool refer, bool by_call) {
  Link& to = link(peer);
  if (!drive([&] { return to.send.has_credit(); })) return false;
  SlotHeader& header = to.send.header();
  header.bytes = bytes;
  header.count = bytes + 1;
  header.call = static_cast<std::uint32_t>(to.send.position() * 3);
  if (bytes <= kInlineBytes) {
    header.kind = SlotKind::inlined;
    if (bytes > 0) std::memcpy(header.inline_data, data, bytes);
  } else if (!refer || !to.refer(data, bytes, by_call, header)) {
    header.kind = SlotKind::staged;
    std::memcpy(to.send.slot(), data, bytes);
  }
  to.send.post();
  if (to.peer_bell.word != nullptr) to.peer_bell.ring();
  return true;
}

bool Node::receive(int peer, std::vector<std::byte>& payload, SlotHeader* copy) {
  Link& from = link(peer);
  if (!drive([&] { return from.receive.front() != nullptr; })) return false;
  const SlotHeader& header = *from.receive.front();
  payload.resize(header.bytes);
  if (copy != nullptr) {
    copy->bytes = header.bytes;
    copy->count = header.count;
    copy->call = header.call;
    copy->kind = header.kind;
  }
  if (const std::byte* data = from.locate(header, payload.size())) {
    if (!payload.empty()) std::memcpy(payload.data(), data, payload.size());
  } else if (const auto fetched = from.fetch(header, payload.size(), payload.data()); !fetched) {
    std::fprintf(stderr, "harness: fetch: %s\n", fetched.error().text.c_str());
    return false;
  }
  from.receive.release();
  if (from.peer_bell.word != nullptr) from.peer_bell.ring();
  return true;
}

std::vector<bool> join(Node& node, const std::function<std::vector<Blob>(const Blob&)>& exchange,
                       const std::function<std::vector<bool>(const std::vector<bool>&)>& agree) {
  const Blob mine = must(node.transport->offer());
  const std::vector<Blob> blobs = exchange(mine);
  std::vector<int> peers;
  for (int peer = 0; peer < node.world; ++peer) {
    if (peer != node.rank &&
        node.transport->reaches(peer, mine, blobs[static_cast<std::size_t>(peer)])) {
      peers.push_back(peer);
    }
  }
  std::vector<bool> verdicts;
  auto connected = node.transport->connect(peers, blobs, Deadline::after(kHang));
  if (connected) verdicts = *connected;
  verdicts.resize(peers.size(), false);
  std::vector<bool> all(static_cast<std::size_t>(node.world), false);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    all[static_cast<std::size_t>(peers[i])] = verdicts[i];
  }
  if (node.world == 2) all = {all[static_cast<std::size_t>(1 - node.rank)]};
  const std::vector<bool> agreed = agree(all);
  std::vector<int> kept;
  for (const int peer : peers) {
    const std::size_t at = node.world == 2 ? 0 : static_cast<std::size_t>(peer);
    if (agreed[at]) kept.push_back(peer);
  }
  node.transport->keep(kept);
  return agreed;
}

World::World(const Kind& kind, int size, const Tweak& tweak) {
  const JobKey key = fresh_key();
  for (int rank = 0; rank < size; ++rank) {
    Settings settings = small_settings();
    if (tweak) tweak(settings, rank);
    nodes_.push_back(std::make_unique<Node>(rank, size, key, kind, std::move(settings)));
  }
  std::vector<Blob> blobs;
  for (const auto& node : nodes_) blobs.push_back(must(node->transport->offer()));
  verdicts_.resize(nodes_.size(), std::vector<bool>(nodes_.size(), false));
  // Vectors of bool share words between elements: each thread writes its own row only.
  each([&](int rank) {
    const auto me = static_cast<std::size_t>(rank);
    std::vector<int> peers;
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank &&
          nodes_[me]->transport->reaches(peer, blobs[me], blobs[static_cast<std::size_t>(peer)])) {
        peers.push_back(peer);
      }
    }
    const auto connected =
        must(nodes_[me]->transport->connect(peers, blobs, Deadline::after(kHang)));
    for (std::size_t i = 0; i < peers.size(); ++i) {
      verdicts_[me][static_cast<std::size_t>(peers[i])] = connected[i];
    }
  });
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    std::vector<int> kept;
    for (std::size_t b = 0; b < nodes_.size(); ++b) {
      if (verdicts_[a][b] && verdicts_[b][a]) kept.push_back(static_cast<int>(b));
    }
    nodes_[a]->transport->keep(kept);
  }
}

bool World::connected() const {
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    for (std::size_t b = 0; b < nodes_.size(); ++b) {
      if (a != b && !verdicts_[a][b]) return false;
    }
  }
  return true;
}

void World::each(const std::function<void(int rank)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) threads.emplace_back([&work, rank] { work(rank); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::byte> pattern(std::uint64_t seed, std::uint64_t bytes) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : data) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56);
  }
  return data;
}

JobKey fresh_key() { return random_job_key(); }
std::size_t open_descriptors() { return entries("/proc/self/fd"); }
std::size_t running_threads() { return entries("/proc/self/task"); }

Child::Child(const Kind& kind, const std::string& role) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) die("socketpair");
  const JobKey key = fresh_key();
  std::string key_text;
  for (const auto& part : {key.nonce, key.secret}) {
    for (const std::uint8_t byte : part) {
      char hex[3];
      std::snprintf(hex, sizeof hex, "%02x", byte);
      key_text += hex;
    }
  }
  const std::string control = std::to_string(pair[1]);
  const std::string streams = std::to_string(kind.streams);
  const char* arguments[] = {"/proc/self/exe",  "--child",        kind.name.c_str(),
                             kind.hook.c_str(), streams.c_str(),  role.c_str(),
                             control.c_str(),   key_text.c_str(), nullptr};
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(pair[0]);
    ::execv(arguments[0], const_cast<char**>(arguments));
    ::_exit(127);
  }
  ::close(pair[1]);
  control_ = Fd(pair[0]);
  node_ = std::make_unique<Node>(0, 2, key, kind, small_settings());
  connected_ = join_over(*node_, control_.get());
}

Child::~Child() {
  control_.reset();  // a child that waits for its end goes home
  reap();
}

void Child::signal(int number) const { ::kill(pid_, number); }

void Child::await_stopped() const {
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) die("child not stopped");
}

void Child::await_exit() {
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_ || status != 0) die("the child did not end well");
  pid_ = -1;
}

void Child::reap() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::kill(pid_, SIGCONT);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

int child_main(const Kind& kind, const std::string& role, int control, const std::string& key) {
  JobKey job;
  std::uint8_t bytes[32];
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::stoi(key.substr(2 * i, 2), nullptr, 16));
  }
  std::memcpy(job.nonce.data(), bytes, 16);
  std::memcpy(job.secret.data(), bytes + 16, 16);
  Node node(1, 2, job, kind, small_settings());
  if (!join_over(node, control)) return 1;
  const auto parent_gone = [&] {
    pollfd wait{control, POLLIN, 0};
    return ::poll(&wait, 1, 0) > 0;
  };
  if (role == "post-and-wait" || role == "post-and-exit" || role == "post-and-goodbye") {
    for (std::uint64_t i = 0; i < 3; ++i) {
      const auto data = pattern(i, 1000);
      if (!node.send(0, data.data(), data.size())) return 1;
    }
    if (!node.drive([&] { return node.transport->flushed(); })) return 1;
    if (role == "post-and-goodbye") node.transport->close(true);
    if (role != "post-and-wait") ::_exit(0);
    node.drive(parent_gone, Deadline::never());
    return 0;
  }
  if (role == "echo") {
    std::vector<std::byte> payload;
    for (;;) {
      const bool more =
          node.drive([&] { return node.link(0).receive.front() != nullptr || parent_gone(); });
      if (!more || node.link(0).receive.front() == nullptr) return 0;
      if (!node.receive(0, payload) || !node.send(0, payload.data(), payload.size())) return 1;
    }
  }
  return 2;
}

}  // namespace gyre::test
