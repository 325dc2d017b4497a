#include "tests/emulated/grid.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "tests/emulated/block.hpp"

namespace gyre::emulated {
namespace {

struct Grid {
  void (*body)(const void*);
  const void* argument;
  std::uint32_t left;  // guarded by the pool's mutex
};

struct Work {
  Grid* grid;
  std::uint32_t block;
};

// Threads that run blocks. There are as many as blocks were ever at work at the same time.
class Pool {
 public:
  void run(Grid& grid, std::uint32_t blocks) {
    {
      const std::lock_guard lock(mutex_);
      for (std::uint32_t block = 1; block < blocks; ++block) queue_.push_back({&grid, block});
      for (; free_ < queue_.size(); ++free_) std::thread([this] { live(); }).detach();
    }
    wanted_.notify_all();
    run_block(grid.body, grid.argument, 0);
    std::unique_lock lock(mutex_);
    --grid.left;
    done_.wait(lock, [&] { return grid.left == 0; });
  }

 private:
  void live() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [&] { return !queue_.empty(); });
      const Work work = queue_.front();
      queue_.pop_front();
      --free_;
      lock.unlock();
      run_block(work.grid->body, work.grid->argument, work.block);
      lock.lock();
      ++free_;
      if (--work.grid->left == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::condition_variable done_;
  std::deque<Work> queue_;
  std::size_t free_ = 0;  // threads that run no block
};

// Never destroyed: its threads may be at work when the process ends.
Pool& pool() {
  static Pool& all = *new Pool;
  return all;
}

}  // namespace

void run_grid(void (*body)(const void*), const void* argument, std::uint32_t blocks) {
  Grid grid{body, argument, blocks};
  pool().run(grid, blocks);
}

}  // namespace gyre::emulated
