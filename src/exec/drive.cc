// The loop that drives ranks: sweep while something moves, then spin, yield, and sleep.
#include <sched.h>

#include <algorithm>

#include "exec/cpu_relax.hpp"
#include "exec/rank_executor.hpp"

namespace gyre {
namespace {

constexpr unsigned kFaultCheckInterval = 64;  // sweeps between looks at the abort flag
constexpr unsigned kYields = 16;              // sched_yield()s between spinning and sleeping
constexpr milliseconds kLongestSleep{20};     // bounds every sleep, whatever wakes were lost

bool finished(const Drive& drive) { return !drive.result || drive.at == drive.launches.size(); }

// One sweep over every unfinished rank. Returns whether anything moved.
bool sweep_all(std::span<Drive> drives) {
  bool moved = false;
  for (Drive& drive : drives) {
    if (finished(drive)) continue;
    auto progress = drive.executor->sweep(drive.launches[drive.at]);
    if (!progress) {
      drive.result = drive.executor->fault(std::move(progress).error());
      moved = true;
    } else if (*progress == Progress::done) {
      ++drive.at;
      moved = true;
    } else {
      moved = moved || *progress == Progress::stepped;
    }
  }
  return moved;
}

void check_all(std::span<Drive> drives, const RankExecutor::Wait& wait) {
  for (Drive& drive : drives) {
    if (finished(drive)) continue;
    auto alive = drive.executor->check_faults(drive.launches[drive.at], wait, drive.doing);
    if (!alive) drive.result = std::move(alive).error();
  }
}

// Sleeps until a lane of any unfinished rank may have moved.
void sleep_all(std::span<Drive> drives) {
  auto& [bells, descriptors] = drives.front().executor->sleep_list();
  bells.clear();
  descriptors.clear();
  bool poll = false;
  for (const Drive& drive : drives) {
    if (finished(drive)) continue;
    bells.push_back(&drive.executor->bell());
    poll = poll || drive.executor->polls();
  }
  poll = poll || bells.size() > 1;
  for (const BellEnd* bell : bells) bell->prepare(poll);
  // Once more with the bells armed: what moved before is seen here, what moves later rings.
  if (sweep_all(drives)) {
    for (const BellEnd* bell : bells) bell->cancel();
    return;
  }
  if (!poll && bells.size() == 1) {
    bells.front()->sleep(kLongestSleep);
    return;
  }
  for (const Drive& drive : drives) {
    if (!finished(drive)) drive.executor->descriptors(descriptors);
  }
  sleep_on(bells, descriptors, kLongestSleep);
}

bool all_finished(std::span<Drive> drives) {
  return std::all_of(drives.begin(), drives.end(), finished);
}

}  // namespace

void drive(std::span<Drive> drives) {
  if (drives.empty()) return;  // nothing could even begin
  // The clock is first read after a number of sweeps: most calls never get there.
  RankExecutor::Wait wait;
  bool moved = true;  // since the last check
  // Ranks that one thread drives wait together.
  SpinBudget& budget = drives.front().executor->spin_budget();
  unsigned spins = 0;  // that this wait may take
  unsigned idle = 0;
  for (unsigned sweeps = 1; !all_finished(drives); ++sweeps) {
    if (sweep_all(drives)) {
      if (idle > 0 && idle <= spins) budget.found(idle);
      idle = 0;
      moved = true;
    } else if (idle++ == 0) {
      spins = budget.next();
    }
    // A call that moves for long is stopped by an abort as well.
    if (sweeps % kFaultCheckInterval == 0 || idle > spins) {
      if (moved) wait.quiet = Clock::now();
      if (wait.since == Clock::time_point{}) wait.since = wait.quiet;
      moved = false;
      check_all(drives, wait);
    }
    if (idle == 0) continue;
    if (idle <= spins) {
      cpu_relax();
    } else if (idle <= spins + kYields) {
      if (idle == spins + 1) budget.missed();
      ::sched_yield();
    } else {
      sleep_all(drives);
    }
  }
}

}  // namespace gyre
