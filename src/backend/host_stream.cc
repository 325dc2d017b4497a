#include "backend/host_stream.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

#include "base/contain.hpp"
#include "base/process.hpp"

namespace gyre {
namespace {

constexpr std::uint64_t kMagic = 0x6d61657274737967;  // no pointer or small number looks like it

// All live streams. Never destroyed: a stream may still be at work while the process exits.
struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<HostStream>> streams;
};

Registry& registry() {
  static Registry* const only = new Registry;
  return *only;
}

// Signals go to the program's own threads, never to a worker; but for one that says what the thread
// itself touched (base/fault_guard.hpp).
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigdelset(&all, SIGBUS);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;
  ~BlockSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

HostStream::HostStream() : magic_(kMagic) {}

Result<HostStream*> HostStream::create() {
  GYRE_TRY(refuse_in_child());
  std::shared_ptr<HostStream> stream(new HostStream);
  const std::lock_guard lock(registry().mutex);
  return registry().streams.emplace_back(std::move(stream)).get();
}

HostStream* HostStream::from(void* stream) {
  const auto address = reinterpret_cast<std::uintptr_t>(stream);
  constexpr std::uintptr_t kFirstPage = 4096;
  if (address < kFirstPage || address % alignof(HostStream) != 0) return nullptr;
  auto* candidate = static_cast<HostStream*>(stream);
  return candidate->magic_.load(std::memory_order_relaxed) == kMagic ? candidate : nullptr;
}

Result<std::shared_ptr<HostStream>> HostStream::release(HostStream* stream) {
  // The child keeps the copy: its mutex may be locked and its worker does not exist.
  GYRE_TRY(refuse_in_child());
  if (stream->worker_.get_id() == std::this_thread::get_id()) {
    return Error{Status::invalid_usage, "a host stream cannot be destroyed by its own work"};
  }
  const std::lock_guard lock(registry().mutex);
  auto& streams = registry().streams;
  const auto found = std::find_if(streams.begin(), streams.end(),
                                  [&](const auto& entry) { return entry.get() == stream; });
  if (found == streams.end()) return Error{Status::invalid_argument, "not a live host stream"};
  std::shared_ptr<HostStream> owner = std::move(*found);
  streams.erase(found);
  return owner;
}

Result<void> HostStream::destroy(HostStream* stream) {
  GYRE_TRY_ASSIGN(const std::shared_ptr<HostStream> owner, release(stream));
  return owner->synchronize();
}

Result<void> HostStream::synchronize_all() {
  GYRE_TRY(refuse_in_child());
  std::vector<std::shared_ptr<HostStream>> streams;
  {
    const std::lock_guard lock(registry().mutex);
    streams = registry().streams;
  }
  Result<void> first;
  for (const auto& stream : streams) {
    if (auto result = stream->synchronize(); !result && first) first = std::move(result);
  }
  return first;
}

HostStream::~HostStream() {
  magic_.store(0, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_ready_.notify_one();
  if (worker_.joinable()) worker_.join();
}

Result<void> HostStream::start_worker() {
  const BlockSignals blocked;
  return contained("starting the worker of a host stream", [this]() -> Result<void> {
    worker_ = std::thread([this] { run(); });
    return {};
  });
}

void HostStream::push(Task task) {
  if (enqueued_ - started_ == ring_.size()) {
    std::vector<Task> larger(std::max<std::size_t>(16, 2 * ring_.size()));
    for (std::uint64_t i = started_; i < enqueued_; ++i) {
      larger[i & (larger.size() - 1)] = std::move(ring_[i & (ring_.size() - 1)]);
    }
    ring_ = std::move(larger);
  }
  ring_[enqueued_++ & (ring_.size() - 1)] = std::move(task);
}

Result<void> HostStream::enqueue_task(Task task) {
  GYRE_TRY(refuse_in_child());
  {
    const std::lock_guard lock(mutex_);
    if (!worker_.joinable()) GYRE_TRY(start_worker());
    push(std::move(task));
  }
  work_ready_.notify_one();
  return {};
}

Result<void> HostStream::synchronize() {
  GYRE_TRY(refuse_in_child());
  std::unique_lock lock(mutex_);
  if (worker_.get_id() == std::this_thread::get_id()) {
    return Error{Status::invalid_usage, "a host stream's own work cannot wait for the stream"};
  }
  const std::uint64_t target = enqueued_;
  ++waiters_;
  work_done_.wait(lock, [&] { return done_ >= target; });
  --waiters_;
  if (error_) return *error_;
  return {};
}

bool HostStream::idle() const {
  if (forked()) return true;
  const std::lock_guard lock(mutex_);
  return done_ == enqueued_;
}

std::optional<Error> HostStream::error() const {
  if (auto allowed = refuse_in_child(); !allowed) return std::move(allowed).error();
  const std::lock_guard lock(mutex_);
  return error_;
}

void HostStream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_ready_.wait(lock, [&] { return stopping_ || started_ < enqueued_; });
    if (started_ == enqueued_) return;
    Task task = std::move(ring_[started_++ & (ring_.size() - 1)]);
    lock.unlock();
    Result<void> result = contained("work of a host stream", [&] { return task(); });
    task.reset();  // whoever waited may free what the work referred to
    lock.lock();
    if (!result && !error_) error_ = std::move(result).error();
    ++done_;
    if (waiters_ > 0) work_done_.notify_all();
  }
}

}  // namespace gyre
