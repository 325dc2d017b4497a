#include "base/fault_guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "base/memory.hpp"

namespace gyre {

// One of a list that only grows; those of guards that are gone are used again. The handler cannot
// take the mutex: it takes an entry only if its version is even, and the same before and after.
struct GuardedRange {
  std::atomic<std::uint32_t> version{1};  // odd: nobody's, or being changed
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> broken{false};
  bool used = false;             // under the mutex
  GuardedRange* next = nullptr;  // fixed once the entry is in the list
};

namespace {

std::atomic<GuardedRange*> ranges{nullptr};
std::atomic<bool> ever_broken{false};
struct sigaction previous;  // written before the handler is installed

std::mutex& mutex() {
  static auto* const only = new std::mutex;
  return *only;
}

// In the handler: atomics and one system call.
bool replace_range_of(std::uintptr_t address) {
  for (GuardedRange* one = ranges.load(std::memory_order_acquire); one != nullptr;
       one = one->next) {
    const std::uint32_t version = one->version.load(std::memory_order_acquire);
    const std::uintptr_t begin = one->begin.load(std::memory_order_acquire);
    const std::uintptr_t end = one->end.load(std::memory_order_acquire);
    if (version % 2 != 0 || one->version.load(std::memory_order_acquire) != version) continue;
    if (address < begin || address >= end) continue;
    // First: who reads the zeroes finds it broken.
    one->broken.store(true, std::memory_order_seq_cst);
    ever_broken.store(true, std::memory_order_seq_cst);
    static_assert(sizeof(long) == sizeof(void*));
    return ::syscall(SYS_mmap, begin, end - begin, PROT_READ | PROT_WRITE,
                     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                     0) == static_cast<long>(begin);
  }
  return false;
}

void hand_on(int number, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(number, info, context);
  const bool sent = info->si_code <= 0;  // by a process, not by a fault
  if (previous.sa_handler == SIG_IGN && sent) return;
  if (previous.sa_handler != SIG_IGN && previous.sa_handler != SIG_DFL) {
    return previous.sa_handler(number);
  }
  // As if there had been no handler; delivered when this one returns.
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool replaced = info->si_code == BUS_ADRERR &&
                        replace_range_of(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved;
  if (!replaced) hand_on(number, info, context);
}

void install_handler() {
  ::sigaction(SIGBUS, nullptr, &previous);
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, nullptr);
}

// Under the mutex.
GuardedRange& unused_range() {
  GuardedRange* const first = ranges.load(std::memory_order_relaxed);
  for (GuardedRange* one = first; one != nullptr; one = one->next) {
    if (!one->used) return *one;
  }
  auto* const fresh = new GuardedRange;
  fresh->next = first;
  if (first == nullptr) install_handler();
  ranges.store(fresh, std::memory_order_release);
  return *fresh;
}

}  // namespace

FaultGuard::FaultGuard(void* base, std::size_t bytes) {
  const std::lock_guard lock(mutex());
  range_ = &unused_range();
  range_->used = true;
  range_->broken.store(false, std::memory_order_relaxed);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  range_->begin.store(begin, std::memory_order_release);
  range_->end.store(begin + round_up(bytes, page_size()), std::memory_order_release);
  range_->version.fetch_add(1, std::memory_order_acq_rel);
}

FaultGuard::~FaultGuard() {
  if (range_ == nullptr) return;
  const std::lock_guard lock(mutex());
  range_->version.fetch_add(1, std::memory_order_acq_rel);
  range_->used = false;
}

bool FaultGuard::broken() const {
  return range_ != nullptr && range_->broken.load(std::memory_order_acquire);
}

bool FaultGuard::any_broken() { return ever_broken.load(std::memory_order_relaxed); }

}  // namespace gyre
