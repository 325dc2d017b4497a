#include "base/bell.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace gyre {
namespace {

void futex_wait(std::atomic<std::uint32_t>* word, std::uint32_t expected, milliseconds cap) {
  timespec timeout{};
  timeout.tv_sec = cap.count() / 1000;
  timeout.tv_nsec = (cap.count() % 1000) * 1'000'000;
  // Shared (not FUTEX_PRIVATE): the word may lie in memory of several processes.
  ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// Orders everything before it against everything after it, on this thread. ThreadSanitizer does not
// model fences (gcc refuses to compile them for it); there a read-modify-write of the word, which
// would cost every waker the cache line, does the same.
void full_fence([[maybe_unused]] std::atomic<std::uint32_t>& word) {
#if defined(__SANITIZE_THREAD__)
  word.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

void BellRope::ring() const {
  fence();
  wake();
}

void BellRope::fence() const { full_fence(word->state); }

void BellRope::wake() const {
  if (word->state.load(std::memory_order_relaxed) == BellWord::kAwake) return;
  const std::uint32_t was = word->state.exchange(BellWord::kAwake, std::memory_order_acq_rel);
  if (was == BellWord::kAsleepFutex) {
    futex_wake(&word->state);
  } else if (was == BellWord::kAsleepPoll) {
    const std::uint64_t one = 1;
    // The only failure, a full counter, means that the sleeper is woken already.
    [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
  }
}

Result<BellEnd> BellEnd::create(BellWord* word) {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return system_error("creating the bell that wakes this rank (eventfd)", errno);
  return BellEnd(word, Fd(fd));
}

void BellEnd::prepare(bool with_descriptors) const {
  word_->state.store(with_descriptors ? BellWord::kAsleepPoll : BellWord::kAsleepFutex,
                     std::memory_order_seq_cst);
  full_fence(word_->state);
}

void BellEnd::cancel() const { word_->state.store(BellWord::kAwake, std::memory_order_relaxed); }

void BellEnd::sleep(milliseconds cap) const {
  futex_wait(&word_->state, BellWord::kAsleepFutex, cap);
  cancel();
}

void BellEnd::drain() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

void sleep_on(std::span<const BellEnd* const> bells, std::vector<pollfd>& fds, milliseconds cap) {
  const std::size_t own = fds.size();
  for (const BellEnd* bell : bells) fds.push_back({bell->event_fd(), POLLIN, 0});
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(cap.count()));
  if (ready <= 0) {
    for (pollfd& entry : fds) entry.revents = 0;
  }
  for (std::size_t i = 0; i < bells.size(); ++i) {
    bells[i]->cancel();
    // A ring between prepare and here may still be on its way; a spurious wake later is harmless.
    if (fds[own + i].revents != 0) bells[i]->drain();
  }
  fds.resize(own);
}

}  // namespace gyre
