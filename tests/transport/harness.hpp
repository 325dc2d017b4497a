// A world of ranks over one transport, without communicators: each rank has a bell, an abort state
// and a record of lost peers; blobs are exchanged in memory or over a socket.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/abort.hpp"
#include "base/bell.hpp"
#include "base/memory.hpp"
#include "base/settings.hpp"
#include "transport/transport.hpp"

namespace gyre::test {

// Bounds every wait of the suite: longer than any loaded machine needs, so reaching it is a hang.
inline constexpr milliseconds kHang{60'000};

class Losses final : public PeerEvents {
 public:
  void lost(int peer, std::string how) override;
  std::optional<std::string> of(int peer) const;
  // Waits for the loss; whether it came before the deadline.
  bool await(int peer, Deadline deadline) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<int, std::string> how_;
};

struct Kind {
  std::string name;  // "direct", "shm", "socket"
  std::string hook;  // GYRE_HOOK, or empty
  std::int64_t streams = 1;
};
inline void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name << " hook=" << kind.hook << " streams=" << kind.streams;
}

struct Node {
  Node(int rank, int world, const JobKey& key, const Kind& kind, Settings settings);
  ~Node();

  // Moves what can be moved until `done` is true; false at the deadline or when aborted. Sleeps
  // like the executor does.
  bool drive(const std::function<bool()>& done, Deadline deadline = Deadline::after(kHang));
  // Posts one slot with this payload, as soon as there is room. `refer`: try by reference first.
  bool send(int peer, const std::byte* data, std::uint64_t bytes, bool refer = false,
            bool by_call = true);
  // Takes one slot out, as soon as there is one.
  bool receive(int peer, std::vector<std::byte>& payload, SlotHeader* header = nullptr);
  Link& link(int peer) { return *transport->link(peer); }

  Settings settings;
  AbortState abort;
  Losses losses;
  Fd bell_segment;
  Mapping bell_memory;
  std::optional<BellEnd> bell;
  std::unique_ptr<Transport> transport;
  int rank;
  int world;
};

Settings small_settings();  // 4 slots of 64 KiB, zero copy from 4 KiB

using Tweak = std::function<void(Settings&, int rank)>;

// A world in this process, one connecting thread per rank.
class World {
 public:
  World(const Kind& kind, int size, const Tweak& tweak = {});

  Node& operator[](int rank) { return *nodes_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  // verdicts()[a][b]: what a says of b.
  const std::vector<std::vector<bool>>& verdicts() const { return verdicts_; }
  bool connected() const;
  // Runs `work(rank)` on a thread per rank and joins.
  void each(const std::function<void(int rank)>& work);

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::vector<bool>> verdicts_;
};

// offer() .. keep() of one node with the blobs of all others given by `exchange`.
std::vector<bool> join(Node& node, const std::function<std::vector<Blob>(const Blob&)>& exchange,
                       const std::function<std::vector<bool>(const std::vector<bool>&)>& agree);

// Bytes that depend on the seed and the index.
std::vector<std::byte> pattern(std::uint64_t seed, std::uint64_t bytes);

JobKey fresh_key();
std::size_t open_descriptors();
std::size_t running_threads();

// A second process (this very program with another main) that joins as rank 1 of 2.
class Child {
 public:
  // `role` selects what it does after joining; see child_main().
  Child(const Kind& kind, const std::string& role);
  ~Child();

  Node& node() { return *node_; }  // rank 0, in this process
  bool connected() const { return connected_; }
  int pid() const { return pid_; }
  void signal(int number) const;
  // Waits until the child is stopped, respectively dead.
  void await_stopped() const;
  void await_exit();
  void reap();

 private:
  std::unique_ptr<Node> node_;
  Fd control_;
  int pid_ = -1;
  bool connected_ = false;
};

// What the child runs: joins over descriptor `control`, then acts its role.
int child_main(const Kind& kind, const std::string& role, int control, const std::string& key);

}  // namespace gyre::test
