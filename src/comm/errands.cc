#include "comm/errands.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/contain.hpp"

namespace gyre {
namespace {

using std::chrono::microseconds;

// How the thread waits for the next errand: without a break at first, since calls follow each other
// within microseconds; when a graph is replayed nobody tells it.
constexpr microseconds kKeen{200};
struct Nap {
  microseconds idle, length;
};
constexpr Nap kNaps[] = {{microseconds(5000), microseconds(50)},
                         {microseconds(100'000), microseconds(500)}};
constexpr microseconds kLongest{5000};

microseconds nap_after(Clock::duration idle) {
  for (const Nap& nap : kNaps) {
    if (idle < nap.idle) return nap.length;
  }
  return kLongest;
}

}  // namespace

struct Errands::State {
  const gyreBackend& backend;
  const int ordinal;
  const std::function<void(const Errand&)> run;
  ReachedMemory memory{};  // of the desk

  std::mutex mutex{};  // guards what follows
  std::condition_variable changed{};
  std::map<std::uint64_t, std::shared_ptr<const Errand>> errands{};
  std::uint64_t made = 0;
  std::thread::id thread{};
  bool stopping = false;
  bool has_ended = false;

  device::Desk& desk() const { return *reinterpret_cast<device::Desk*>(memory.data()); }

  std::shared_ptr<const Errand> take(std::uint64_t id) {
    const std::lock_guard lock(mutex);
    const auto found = errands.find(id);
    if (found == errands.end()) return nullptr;
    std::shared_ptr<const Errand> errand = found->second;
    if (!errand->captured) errands.erase(found);
    return errand;
  }

  // Whether there was one. It runs without the lock: others are added meanwhile.
  bool run_next() {
    device::Desk& at = desk();
    const std::uint64_t number = std::atomic_ref(at.posted).load(std::memory_order_acquire);
    if (number == at.done) return false;
    const auto errand = take(std::atomic_ref(at.errand).load(std::memory_order_relaxed));
    if (errand != nullptr) run(*errand);
    std::atomic_ref(at.done).store(number, std::memory_order_release);
    return true;
  }

  // Until there is something new, or for a while; whether there is.
  bool nap(microseconds length, std::uint64_t& seen) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, length, [&] { return stopping || made != seen; });
    return std::exchange(seen, made) != made;
  }

  bool is_stopping() {
    const std::lock_guard lock(mutex);
    return stopping;
  }
};

Result<std::unique_ptr<Errands>> Errands::create(const gyreBackend& backend, int ordinal,
                                                 std::function<void(const Errand&)> run) {
  std::shared_ptr<State> state(new State{backend, ordinal, std::move(run)});
  GYRE_TRY_ASSIGN(state->memory, ReachedMemory::create(backend, ordinal, sizeof(device::Desk)));
  new (state->memory.data()) device::Desk;
  GYRE_TRY(contained("starting a thread for errands", [&]() -> Result<void> {
    std::thread([state] { work(state); }).detach();
    return {};
  }));
  return std::unique_ptr<Errands>(new Errands(std::move(state)));
}

Errands::~Errands() { (void)stop(Deadline::after(milliseconds(0))); }

Result<std::shared_ptr<ReachedMemory>> Errands::room(std::size_t bytes) {
  if (bytes == 0) return std::shared_ptr<ReachedMemory>();
  if (room_ == nullptr || room_->size() < bytes) {
    room_.reset();  // whoever uses it has it still
    GYRE_TRY_ASSIGN(ReachedMemory larger,
                    ReachedMemory::create(state_->backend, state_->ordinal, bytes));
    room_ = std::make_shared<ReachedMemory>(std::move(larger));
  }
  return room_;
}

device::Errand Errands::add(Errand errand) {
  auto kept = std::make_shared<const Errand>(std::move(errand));
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(state_->mutex);
    id = ++state_->made;
    state_->errands.emplace(id, std::move(kept));
  }
  state_->changed.notify_all();
  return {reinterpret_cast<device::Desk*>(state_->memory.on_device()), id};
}

void Errands::drop(const device::Errand& errand) {
  const std::lock_guard lock(state_->mutex);
  state_->errands.erase(errand.id);
}

bool Errands::stop(Deadline deadline) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.stopping = true;
  state.changed.notify_all();
  const bool ended = state.thread == std::this_thread::get_id() ||
                     state.changed.wait_until(lock, deadline.at(), [&] { return state.has_ended; });
  std::atomic_ref(state.desk().closed).store(1, std::memory_order_release);
  return ended;
}

void Errands::work(const std::shared_ptr<State>& state) {
  {
    const std::lock_guard lock(state->mutex);
    state->thread = std::this_thread::get_id();
  }
  Clock::time_point latest = Clock::now();
  std::uint64_t seen = 0;
  while (!state->is_stopping()) {
    const Clock::duration idle = Clock::now() - latest;
    if (state->run_next()) {
      latest = Clock::now();
    } else if (idle < kKeen) {
      std::this_thread::yield();
    } else if (state->nap(nap_after(idle), seen)) {
      latest = Clock::now();
    }
  }
  const std::lock_guard lock(state->mutex);
  state->has_ended = true;
  state->changed.notify_all();
}

}  // namespace gyre
