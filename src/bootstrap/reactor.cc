#include "bootstrap/reactor.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/contain.hpp"
#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/process.hpp"

namespace gyre {
namespace {

// The program's signals are for the program's threads: a thread started meanwhile gets none.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

[[noreturn]] void fail(const char* call) {
  const int error = errno;
  throw std::system_error(error, std::generic_category(),
                          std::string("the background thread's descriptors: ") + call);
}

// Who waits in run().
struct Waiter {
  std::mutex mutex;
  std::condition_variable ran;
  bool done = false;
  std::exception_ptr thrown;
};

// Work that waits its turn. That of run() lies on the stack of the thread that waits for it, so
// that a destructor's run() needs no memory; that of post() owns itself.
struct Job {
  Job* next = nullptr;
  std::function<void()> posted;
  void (*call)(void* work) = nullptr;
  void* work = nullptr;
  Waiter* waiter = nullptr;  // null: posted
};

// First come, first served. Nothing here allocates.
class Jobs {
 public:
  bool empty() const { return first_ == nullptr; }
  void add(Job* job) {
    *end_ = job;
    end_ = &job->next;
  }
  // All of them; the queue is empty then.
  Job* take() {
    end_ = &first_;
    return std::exchange(first_, nullptr);
  }

 private:
  Job* first_ = nullptr;
  Job** end_ = &first_;
};

void run_for_waiter(const Job& job) {
  Waiter& waiter = *job.waiter;
  std::exception_ptr thrown;
  try {
    job.call(job.work);
  } catch (...) {
    thrown = std::current_exception();
  }
  // Notified under the mutex: the waiter, and the job, are gone as soon as it sees `done`.
  const std::lock_guard lock(waiter.mutex);
  waiter.thrown = std::move(thrown);
  waiter.done = true;
  waiter.ran.notify_one();
}

// A callback that throws loses its own work; the thread goes on with everybody else's.
template <typename Work>
void run_contained(Work&& work) {
  const auto ran = contained("the background thread of this process", [&]() -> Result<void> {
    work();
    return {};
  });
  if (ran) return;
  (void)contained("", [&]() -> Result<void> {
    log_warn("{}", ran.error().text);
    return {};
  });
}

}  // namespace

// Every field is guarded by `mutex`, except the descriptors and `thread`, which never change.
// Handlers run without the mutex; `running` names the registration whose handler runs.
struct Reactor::Impl {
  struct Entry {
    int fd = -1;             // watched descriptor, or -1 for a timer
    Clock::time_point time;  // of a timer
    Handler handler;         // gets 0 for a timer
  };

  Fd epoll;
  Fd wake;
  std::thread::id thread;
  std::mutex mutex;
  std::condition_variable idle;
  std::unordered_map<Id, std::shared_ptr<Entry>> entries;
  std::set<std::pair<Clock::time_point, Id>> timers;
  Jobs posted;
  Id next = 1;
  Id running = 0;

  void ring() const {
    const std::uint64_t one = 1;
    // A full counter means that the thread is woken already.
    [[maybe_unused]] const auto written = ::write(wake.get(), &one, sizeof one);
  }
  void add(int fd, std::uint32_t events, Id id) const;  // throws
  int timeout();
  void dispatch(Id id, std::uint32_t events);
  void run_timers();
  void run_posted();
  [[noreturn]] void loop();
  void remove(Id id);
};

void Reactor::Impl::add(int fd, std::uint32_t events, Id id) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

int Reactor::Impl::timeout() {
  const std::lock_guard lock(mutex);
  if (!posted.empty()) return 0;
  if (timers.empty()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(timers.begin()->first - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), milliseconds(60'000)).count());
}

void Reactor::Impl::dispatch(Id id, std::uint32_t events) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex);
    const auto found = entries.find(id);
    if (found == entries.end()) return;
    entry = found->second;
    running = id;
  }
  run_contained([&] { entry->handler(events); });
  {
    const std::lock_guard lock(mutex);
    running = 0;
  }
  idle.notify_all();
}

void Reactor::Impl::run_timers() {
  const auto now = Clock::now();
  for (;;) {
    Id id = 0;
    {
      const std::lock_guard lock(mutex);
      if (timers.empty() || timers.begin()->first > now) return;
      id = timers.begin()->second;
      timers.erase(timers.begin());
    }
    dispatch(id, 0);
    remove(id);
  }
}

void Reactor::Impl::run_posted() {
  Job* job = [this] {
    const std::lock_guard lock(mutex);
    return posted.take();
  }();
  while (job != nullptr) {
    Job* const following = job->next;  // the job is gone once it ran
    if (job->waiter != nullptr) {
      run_for_waiter(*job);
    } else {
      const std::unique_ptr<Job> owned(job);
      run_contained(owned->posted);
    }
    job = following;
  }
}

void Reactor::Impl::loop() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count =
        ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), timeout());
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 != 0) {
        dispatch(event.data.u64, event.events);
        continue;
      }
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto got = ::read(wake.get(), &rings, sizeof rings);
    }
    run_posted();
    run_timers();
  }
}

void Reactor::Impl::remove(Id id) {
  // Destroyed after the mutex is released: the handler's captures may use the reactor.
  std::shared_ptr<Entry> entry;
  std::unique_lock lock(mutex);
  const auto found = entries.find(id);
  if (found != entries.end()) {
    entry = std::move(found->second);
    entries.erase(found);
    if (entry->fd >= 0) {
      ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, entry->fd, nullptr);
    } else {
      timers.erase({entry->time, id});
    }
  }
  if (std::this_thread::get_id() == thread) return;
  idle.wait(lock, [&] { return running != id; });
}

// Throws if descriptors or threads have run out; the next instance() then tries again.
Reactor::Reactor() {
  auto impl = std::make_unique<Impl>();
  // Arms the fork handler, which closes our descriptors in a child.
  (void)forked();
  impl->epoll = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!impl->epoll) fail("epoll_create1");
  impl->wake = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl->wake) fail("eventfd");
  impl->add(impl->wake.get(), EPOLLIN, 0);
  const NoSignals blocked;
  const std::unique_lock lock(impl->mutex);  // holds the thread until its id is known
  std::thread thread([raw = impl.get()] {
    ::pthread_setname_np(::pthread_self(), "gyre-reactor");
    raw->loop();
  });
  impl->thread = thread.get_id();
  thread.detach();
  impl_ = impl.release();
}

Reactor& Reactor::instance() {
  static Reactor* reactor = new Reactor;
  return *reactor;
}

bool Reactor::on_reactor_thread() const { return std::this_thread::get_id() == impl_->thread; }

void Reactor::Token::reset() {
  const Id id = std::exchange(id_, 0);
  if (id != 0 && !forked()) Reactor::instance().impl_->remove(id);
}

Reactor::Token Reactor::watch(int fd, std::uint32_t events, Handler handler) {
  if (forked()) return {};
  const std::lock_guard lock(impl_->mutex);
  const Id id = impl_->next++;
  const auto [place, _] = impl_->entries.emplace(
      id, std::make_shared<Impl::Entry>(Impl::Entry{fd, {}, std::move(handler)}));
  try {
    impl_->add(fd, events, id);
  } catch (...) {
    impl_->entries.erase(place);
    throw;
  }
  return Token(id);
}

void Reactor::modify(const Token& token, std::uint32_t events) {
  if (forked()) return;
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->entries.find(token.id());
  if (found == impl_->entries.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token.id();
  ::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_MOD, found->second->fd, &event);
}

void Reactor::post(std::function<void()> work) {
  if (forked()) return;
  auto job = std::make_unique<Job>();
  job->posted = std::move(work);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.add(job.release());
  }
  impl_->ring();
}

void Reactor::run_erased(void (*call)(void*), void* work) {
  if (forked()) return;
  if (on_reactor_thread()) return call(work);
  Waiter waiter;
  Job job;
  job.call = call;
  job.work = work;
  job.waiter = &waiter;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.add(&job);
  }
  impl_->ring();
  std::unique_lock lock(waiter.mutex);
  waiter.ran.wait(lock, [&] { return waiter.done; });
  if (waiter.thrown) std::rethrow_exception(waiter.thrown);
}

Reactor::TimerToken Reactor::at(Clock::time_point time, std::function<void()> work) {
  if (forked()) return {};
  Id id = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    id = impl_->next++;
    impl_->entries.emplace(id, std::make_shared<Impl::Entry>(Impl::Entry{
                                   -1, time, [work = std::move(work)](std::uint32_t) { work(); }}));
    impl_->timers.emplace(time, id);
  }
  if (!on_reactor_thread()) impl_->ring();
  return TimerToken(id);
}

}  // namespace gyre
