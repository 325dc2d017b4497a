#include "comm/errands.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/clock.hpp"
#include "base/contain.hpp"

namespace gyre {
namespace {

// How the thread waits for the next errand: without a break at first, since calls follow each other
// within microseconds; when a graph is replayed nobody tells it.
constexpr std::chrono::microseconds kKeen{200};
constexpr std::chrono::milliseconds kWakeful{1000};
constexpr std::chrono::microseconds kShortNap{20};
constexpr std::chrono::microseconds kLongNap{500};

}  // namespace

Result<std::unique_ptr<Errands>> Errands::create(const gyreBackend& backend, int ordinal,
                                                 std::function<void(std::span<const Call>)> run) {
  std::unique_ptr<Errands> errands(new Errands(backend, ordinal, std::move(run)));
  GYRE_TRY_ASSIGN(errands->desk_, ReachedMemory::create(backend, ordinal, sizeof(device::Desk)));
  new (errands->desk_.data()) device::Desk;
  GYRE_TRY(contained("starting a thread for errands", [&]() -> Result<void> {
    errands->thread_ =
        std::jthread([self = errands.get()](const std::stop_token& stop) { self->work(stop); });
    return {};
  }));
  return errands;
}

Errands::~Errands() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Result<std::byte*> Errands::room(std::size_t bytes, bool captured) {
  if (room_.size() < bytes) {
    // Twice what there was, so that growing calls do not each make a new one.
    GYRE_TRY_ASSIGN(ReachedMemory larger,
                    ReachedMemory::create(backend_, ordinal_, std::max(bytes, 2 * room_.size())));
    if (room_is_captured_) kept_.push_back(std::move(room_));
    room_ = std::move(larger);
    room_is_captured_ = false;
  }
  room_is_captured_ = room_is_captured_ || captured;
  return room_.data();
}

device::Errand Errands::add(std::vector<Call> calls, bool captured) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++made_;
    entries_.emplace(id, Entry{std::move(calls), captured});
  }
  added_.notify_one();
  return {reinterpret_cast<device::Desk*>(desk_.on_device()), id};
}

void Errands::drop(const device::Errand& errand) {
  const std::lock_guard lock(mutex_);
  entries_.erase(errand.id);
}

void Errands::work(const std::stop_token& stop) {
  Clock::time_point latest = Clock::now();
  while (!stop.stop_requested()) {
    if (do_next()) {
      latest = Clock::now();
      continue;
    }
    const auto idle = Clock::now() - latest;
    if (idle < kKeen) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock lock(mutex_);
    const std::uint64_t seen = made_;
    added_.wait_for(lock, stop, idle < kWakeful ? kShortNap : kLongNap,
                    [&] { return made_ != seen; });
  }
}

// Whether there was one. Its calls run without the lock: others are added meanwhile.
bool Errands::do_next() {
  auto& desk = *reinterpret_cast<device::Desk*>(desk_.data());
  const std::uint64_t number = std::atomic_ref(desk.posted).load(std::memory_order_acquire);
  if (number == desk.done) return false;
  const std::uint64_t id = std::atomic_ref(desk.errand).load(std::memory_order_relaxed);
  const std::vector<Call> calls = take(id);
  run_(calls);
  std::atomic_ref(desk.done).store(number, std::memory_order_release);
  return true;
}

std::vector<Call> Errands::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  if (found->second.captured) return found->second.calls;
  std::vector<Call> calls = std::move(found->second.calls);
  entries_.erase(found);
  return calls;
}

}  // namespace gyre
