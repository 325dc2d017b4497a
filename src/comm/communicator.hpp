// One rank's membership in a communicator: what an ncclComm_t stands for.
//
// Threads: calls are issued by one thread at a time; async_error() and close() may come from any
// thread at any time. Calls run one after the other, in issue order, on whichever thread drives
// them (the caller's, a stream's worker); `running_` is entered while one runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "backend/host_stream.hpp"
#include "base/abort.hpp"
#include "base/bell.hpp"
#include "base/memory.hpp"
#include "base/settings.hpp"
#include "bootstrap/attendance.hpp"
#include "bootstrap/control.hpp"
#include "bootstrap/unique_id.hpp"
#include "comm/device_rank.hpp"
#include "comm/errands.hpp"
#include "comm/facts.hpp"
#include "comm/gate.hpp"
#include "comm/message_chains.hpp"
#include "comm/registrations.hpp"
#include "comm/turns.hpp"
#include "comm/user_ops.hpp"
#include "exec/rank_executor.hpp"
#include "plan/planner.hpp"
#include "schedule/call.hpp"

namespace gyre {

// A collective's plan, and what it depends on besides the communicator.
struct PlannedCall {
  CallKind kind = CallKind::all_reduce;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::uint64_t count = 0;
  const Program* program = nullptr;
  Plan plan;
  std::uint64_t number = 0;  // among the plans made

  bool is_of(const Call& call) const {
    return program != nullptr && call.blocks == nullptr && kind == call.kind && type == call.type &&
           op == call.op && root == call.root && count == call.count;
  }
};

// The same of a rank on a device.
struct DevicePlannedCall : PlannedCall {
  std::uint32_t channels = 1;
  bool striped = false;
  bool exchange = false;
  bool offers = false;  // some step of the program offers a place for an answer
  std::uint32_t threads = device::kThreads;
  bool asks = false;
  std::uint64_t mapped_slice = 0;
  std::uint64_t mapped_tiles = 0;
};

struct CommOptions {
  bool blocking = true;
  std::string name;
  int device = -1;  // -1: the calling thread's; of a host rank, which has only one, a label
};

class Communicator final : public ControlEvents, public std::enable_shared_from_this<Communicator> {
 public:
  enum class State : std::uint8_t { opening, ready, failed, finalized, closed };

  Communicator(int rank, int world, CommOptions options);
  ~Communicator() override;

  // Meets the other ranks and connects to them; collective. Blocks, at most until the init deadline
  // or an abort. On failure the communicator stays failed and every rank gets the reason.
  Result<void> open(const UniqueId& id);
  // The same for a subset of `parent`'s ranks: `members` by new rank. `key` is new and shared.
  Result<void> open_among(const Communicator& parent, const std::vector<int>& members,
                          const JobKey& key);
  // For a rank that cannot even begin to open: the others get `error` instead of waiting for it.
  Result<void> refuse_to_open(const UniqueId& id, const Error& error);
  // Runs `opening` on a thread of this communicator; async_error() tells when it is done. An error
  // if there is no thread to be had.
  Result<void> open_in_background(std::function<Result<void>()> opening);
  // Runs what derives a communicator from this one on this one's worker; async_error() says when it
  // is done. Its error breaks this communicator.
  void derive_in_background(std::function<Result<void>()> derivation);

  int rank() const { return rank_; }
  int world() const { return world_; }
  const CommOptions& options() const { return options_; }
  State state() const { return state_.load(std::memory_order_acquire); }
  UserOps& user_ops() { return user_ops_; }
  // The number of its device; of a host rank what it was given, or 0.
  int device() const;
  // Whether its calls are work on the user's streams: enqueue(), not begin() or run().
  bool on_device() const { return device_ != nullptr; }
  Turns& turns() { return turns_; }

  // Whether a new call may be issued.
  Result<void> usable() const { return is_calm() ? Result<void>() : why_unusable(); }
  // in_progress, the error that broke it, or nothing.
  std::optional<Error> async_error() const;
  bool aborted() const { return abort_.raised(); }
  // Keeps the error of a call that nobody waits for.
  void broke(const Error& error) { abort_.raise(error); }
  // Lets issued calls end; the communicator takes no further ones. in_progress on a non-blocking
  // one: async_error() tells when they have ended.
  Result<void> finalize();
  // Ends it, locally and within 2 s whatever the peers do. `abort`: running calls are stopped and
  // the peers told; otherwise they get a while to end, on a device 10 s more, where they may stand
  // behind the user's own work.
  void close(bool abort);

  // Arguments that can be wrong by themselves: root, peer, pointers.
  Result<void> check(const Call& call) const {
    return is_complete(call) ? Result<void>() : check_closely(call);
  }

  // Of a rank on a device: whether its kernels reach the call's buffers.
  Result<void> check_buffers(const Call& call) const;
  // Of a rank on a device: enqueues a call, or a group's calls on this communicator, on the first
  // of `streams`; what comes later on any of them comes after it. Waits for nobody.
  Result<void> enqueue(std::span<const Call> calls, std::span<const gyreStream_t> streams);

  // How long the planner thinks that the call takes.
  double predicted_seconds(const Call& call) const {
    return gyre::predicted_seconds(call, rank_, plan_facts_);
  }

  // Runs one call to the end on the calling thread. The caller holds the turn (Turns::wait), and
  // ends it afterwards.
  Result<void> run(const Call& call);
  // The same of any number of calls in two halves, so that one thread can drive several ranks:
  // begin(), drive(), end(). `counts` is false for what continues a group that was counted already.
  Result<Drive> begin(std::span<const Call> calls, bool counts = true);
  static void drive(std::span<Drive> drives);
  void end(const Drive& drive);

  // Lets peers map the buffer, if it lies in memory of a file (region_hold), until it is
  // deregistered or the communicator ends. Peers give it up once no call uses it. Any thread.
  Result<void*> register_memory(const void* buffer, std::size_t bytes) {
    return registrations_.add(buffer, bytes);
  }
  Result<void> deregister_memory(const void* handle);

  // Runs `body`, which uses this communicator's control plane, while nobody else does and close()
  // waits for it; an error instead if it is not open.
  Result<void> while_open(const std::function<Result<void>()>& body);
  // Opens `child` among some of this one's ranks, within while_open(): stopping this one stops it.
  Result<void> derive(const std::shared_ptr<Communicator>& child, const std::vector<int>& members,
                      const JobKey& key);

  // The stream on which calls without one run when the communicator is non-blocking. While such
  // work is counted by begin_background(), the communicator is "in progress".
  Result<HostStream*> worker();
  void begin_background() { background_.fetch_add(1, std::memory_order_relaxed); }
  void end_background() { background_.fetch_sub(1, std::memory_order_release); }

  // Collective over the parent's ranks: gathers small values of all ranks.
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         std::string_view what);
  const JobKey& key() const { return key_; }
  std::uint64_t next_split() { return splits_++; }

 private:
  // What nearly every call is, in a few branches; the others are looked at closely.
  bool is_calm() const {
    return state() == State::ready && !abort_.raised() && device_ == nullptr &&
           background_.load(std::memory_order_acquire) == 0;
  }
  // Both buffers, whoever needs which, a root or none, and few enough elements for 2^16 ranks.
  bool is_complete(const Call& call) const {
    return call.input != nullptr && call.output != nullptr && (call.count >> 40) == 0 &&
           static_cast<unsigned>(call.root) < static_cast<unsigned>(world_) &&
           call.blocks == nullptr;
  }
  Result<void> why_unusable() const;
  Result<void> check_closely(const Call& call) const;

  // What begin(), run() and end() consist of.
  Result<void> enter();
  Result<Drive> prepare(std::span<const Call> calls, bool counts);
  Drive drive_of(std::size_t launches, CallKind kind, bool counts);
  Result<void> run_again(ExchangeRun& exchange, CallKind kind);
  Result<void> run_driven(Drive& one);
  void leave();
  Result<void> check_size(const Call& call) const;

  // ControlEvents, on the reactor's thread
  void announced(int from, Error error) override;
  void lost(int rank, std::string how) override;
  void left(int rank) override;
  ProgressCounts progress() override;

  // lifetime.cc
  void stop(const Error& reason);
  Error reason_to_stop() const;
  bool is_idle() const;
  void between_calls();
  void tear_down(bool calm);

  // init.cc: the phases of open()
  Result<void> meet(const UniqueId& id, Deadline deadline);
  Result<void> wire(Deadline deadline);
  Result<void> make_bell();
  Result<void> open_control(Deadline deadline);
  Result<void> connect_peers(Deadline deadline);
  Result<void> make_executor();
  // agree_on_plan.cc: the last of them
  Result<void> agree_on_plan(Deadline deadline);
  Result<bool> share_memory_within_hosts(Deadline deadline);
  Result<void> choose_for_all(Deadline deadline);
  Result<void> ready_or_fail(Result<void> result);
  std::string who_is_late();
  std::optional<Error> disagreement();

  // device_init.cc: the same for ranks on devices
  Result<void> choose_device();
  Result<void> add_device(PeerFacts& facts) const;
  Result<std::uint32_t> agree_on_channels(Deadline deadline);
  bool kernels_may_reach_all() const;
  Result<void> open_device();
  Result<bool> connect_device(Deadline deadline);
  Result<bool> all_say(bool yes, std::string_view what, Deadline deadline);
  void watch_device();
  void close_device();
  void look_at_device();
  std::optional<Error> device_fault() const;

  // enqueue.cc
  const DevicePlannedCall& device_planned(const Call& call);
  Result<void> move_tables(const Call& call, device::Work& work);
  void offer_buffers(const Call& call, device::Work& work);
  Result<void> released(Result<void> done, std::byte* memory, gyreStream_t stream);
  Result<void> enqueue_all(std::span<const Call> calls, gyreStream_t stream);
  Result<void> enqueue_collective(const Call& call, gyreStream_t stream);
  Result<void> enqueue_all_to_all(const Call& call, gyreStream_t stream);
  Result<void> enqueue_all_to_all_v(const Call& call, gyreStream_t stream);
  Result<void> enqueue_messages(std::span<const Call> messages, CallTag tag, std::uint64_t number,
                                gyreStream_t stream);
  Result<void> enqueue_self_copies(std::span<const Call> calls, gyreStream_t stream);

  // enqueue_errands.cc
  Result<void> open_errands();
  Result<void> enqueue_errands(std::span<const Call> calls, gyreStream_t stream);
  Result<void> enqueue_errand(std::span<const Call> calls, bool is_first, gyreStream_t stream);
  Result<void> enqueue_or_break(std::span<const Call> calls, bool is_first, gyreStream_t stream);
  void run_errand(const Errand& errand);
  Result<void> launch_errand(Errand errand, gyreStream_t stream);
  Result<void> copy_on_stream(std::span<const HostCopy> copies, gyreStream_t stream);

  // compose.cc: calls to launches
  ExchangeRun* restarted(const Call& call);
  Result<std::size_t> compose(std::span<const Call> calls);
  Result<Call> copied_aside(const Call& call, std::size_t index);
  Launch& next_launch(std::size_t& used);
  Launch& next_empty_launch(std::size_t& used);
  Result<void> compose_collective(const Call& call, std::size_t& used);
  void choose_streams(const PlannedCall& planned, Work& work, Launch& launch);
  static Result<std::byte*> scratch_for(const PlannedCall& planned, Launch& launch);
  void compose_all_to_all_v(const Call& call, Launch& launch);
  Result<void> compose_messages(std::span<const Call> calls, Launch& launch);
  Result<void> compose_messages_to_self(std::span<const Call* const> sends,
                                        std::span<const Call* const> receives, Launch& launch);
  void compose_agreement(const Call& call, Launch& launch);
  void count_collective(const Call& call);
  void add_message(const Call& message, CallTag tag, std::uint64_t number, Launch& launch);
  void add_self_copy(const Call& send, const Call& receive, Launch& launch);
  Work work_of(const Call& call, CallTag tag, std::uint64_t number) const;
  const Program& program_for(const Call& call, Algorithm algorithm);
  const PlannedCall& planned(const Call& call);

  const int rank_;
  const int world_;
  const CommOptions options_;
  std::atomic<State> state_{State::opening};
  AbortState abort_;
  JobKey key_;
  Settings settings_;
  std::vector<PeerFacts> facts_;
  UserOps user_ops_;
  Registrations registrations_;
  Turns turns_;
  std::uint64_t splits_ = 0;
  std::uint64_t collectives_ = 0;  // issued so far; guarded by running_, of kernels by issuing_
  // The latest collective, for a rank that waits for this one; the stamp is 0 while it changes.
  std::atomic<std::uint64_t> latest_stamp_{0};
  std::atomic<std::uint32_t> latest_tag_{0};
  std::atomic<int> background_{0};

  Fd bell_segment_;
  Mapping bell_page_;
  std::optional<BellEnd> bell_;
  std::unique_ptr<PeerWatch> watch_;
  std::unique_ptr<Attendance> attendance_;  // from meet() until ready_or_fail()
  std::unique_ptr<Control> control_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Transport*> transport_of_;  // by peer
  std::unique_ptr<RankExecutor> executor_;
  PlanFacts plan_facts_;
  std::unique_ptr<DeviceRank> device_;  // null: a host rank
  DevicePlannedCall device_planned_;
  std::optional<MessageChains> message_chains_;  // none before the first message
  std::map<std::tuple<CallKind, Algorithm, int>, DeviceSchedule> device_schedules_;
  std::unique_ptr<Errands> errands_;  // null: a host rank, or one whose kernels reach all peers
  std::jthread device_watch_;         // last of them: it ends before what it looks at

  Gate issuing_;  // entered while calls become work on a stream: enqueue()

  // Entered while the communicator opens or another one is derived from it: both use the control
  // plane, which close() takes away.
  Gate wiring_;
  std::mutex deriving_mutex_;
  std::vector<std::weak_ptr<Communicator>> deriving_;  // those that open at this moment

  Gate running_;  // entered while a call runs; guards what follows
  std::vector<Launch> launches_;
  std::vector<const Call*> messages_;  // of the group being composed; kept for its memory
  std::vector<Call> block_messages_;   // of an all-to-all-v; likewise
  std::vector<Mapping> aside_;         // inputs of all-to-alls in place; kept from call to call
  std::map<std::tuple<CallKind, Algorithm, int>, Program> programs_;
  PlannedCall planned_;  // the latest: most programs repeat themselves

  std::mutex lifetime_;  // guards opening_, worker_ and closing
  std::thread opening_;
  HostStream* worker_ = nullptr;
};

}  // namespace gyre
