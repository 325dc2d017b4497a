#include "bench/harness/team.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "bench/harness/stats.hpp"

namespace gyre::bench {
namespace {

double combine(const std::vector<double>& values, Average how) {
  switch (how) {
    case Average::rank0:
      return values.front();
    case Average::min:
      return *std::min_element(values.begin(), values.end());
    case Average::max:
      return *std::max_element(values.begin(), values.end());
    case Average::mean:
      break;
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// All elements of all processes, process after process. In pieces: what a process may give at once
// is limited (1 MiB), and -I gives a number for each iteration.
template <typename T>
std::vector<T> gather_all(ProcessGroup& group, const std::vector<T>& mine) {
  constexpr std::size_t kPiece = (std::size_t{64} << 10) / sizeof(T);
  const auto processes = static_cast<std::size_t>(group.size());
  std::vector<T> all(mine.size() * processes);
  for (std::size_t at = 0; at < mine.size(); at += kPiece) {
    const auto piece = std::span(mine).subspan(at, std::min(kPiece, mine.size() - at));
    const auto bytes = group.all_gather(std::as_bytes(piece));
    for (std::size_t i = 0; i < processes; ++i) {
      std::memcpy(&all[i * mine.size() + at], bytes.data() + i * piece.size_bytes(),
                  piece.size_bytes());
    }
  }
  return all;
}

}  // namespace

Team::Team(ProcessGroup& group, int threads)
    : group_(group),
      threads_(threads),
      values_(static_cast<std::size_t>(threads)),
      counts_(static_cast<std::size_t>(threads)),
      times_(static_cast<std::size_t>(threads)) {}

template <typename Combine>
void Team::meet(Combine&& combine_all) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  if (++arrived_ < threads_) {
    changed_.wait(lock, [&] { return round_ != round; });
    return;
  }
  combine_all();
  arrived_ = 0;
  ++round_;
  changed_.notify_all();
}

void Team::barrier() {
  meet([this] { group_.barrier(); });
}

double Team::reduce(int thread, double value, Average how) {
  values_[static_cast<std::size_t>(thread)] = value;
  meet([this, how] { value_ = combine(gather_all(group_, values_), how); });
  return value_;
}

std::int64_t Team::sum(int thread, std::int64_t value) {
  counts_[static_cast<std::size_t>(thread)] = value;
  meet([this] {
    const auto all = gather_all(group_, counts_);
    count_ = std::accumulate(all.begin(), all.end(), std::int64_t{0});
  });
  return count_;
}

std::vector<std::vector<double>> Team::process_maxima(int thread,
                                                      const std::vector<double>& times) {
  times_[static_cast<std::size_t>(thread)] = times;
  meet([this] {
    const auto mine = maxima(times_);
    const auto all = gather_all(group_, mine);
    rows_.clear();
    for (std::size_t at = 0; at + mine.size() <= all.size() && !mine.empty(); at += mine.size()) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
      rows_.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(mine.size()));
    }
  });
  return rows_;
}

}  // namespace gyre::bench
