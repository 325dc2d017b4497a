// Vector clocks: which accesses to a chunk of memory are ordered by the messages of a schedule.
//
// Only the arrival of a message orders events here, not the return of a credit, so what is found
// safe is safe with any number of slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gyre {

// One clock per process (a strand of a rank), each with an entry per process.
class Clocks {
 public:
  explicit Clocks(std::uint32_t processes)
      : processes_(processes), time_(std::size_t{processes} * processes) {}

  std::span<const std::uint32_t> of(std::uint32_t process) const {
    return {time_.data() + std::size_t{process} * processes_, processes_};
  }
  std::uint32_t now(std::uint32_t process) const { return of(process)[process]; }
  void tick(std::uint32_t process) { ++time_[std::size_t{process} * processes_ + process]; }
  // What the sender knew when it sent is now known to `process`.
  void learn(std::uint32_t process, std::span<const std::uint32_t> message) {
    std::uint32_t* own = time_.data() + std::size_t{process} * processes_;
    for (std::uint32_t i = 0; i < processes_; ++i) own[i] = std::max(own[i], message[i]);
  }
  // Whether `other` at time `time` is before `process` now.
  bool ordered(std::uint32_t process, std::uint32_t other, std::uint32_t time) const {
    return of(process)[other] >= time;
  }

 private:
  std::uint32_t processes_;
  std::vector<std::uint32_t> time_;
};

// Access history of chunks of memory ("cells").
class AccessLog {
 public:
  AccessLog(std::uint64_t cells, const Clocks& clocks) : clocks_(&clocks), cells_(cells) {}

  // Each returns whether the access is ordered with every conflicting one before it.
  bool read(std::uint64_t cell, std::uint32_t process) {
    Cell& at = cells_[cell];
    const bool ordered = after_write(at, process);
    reads_.push_back({process, clocks_->now(process), at.newest_read});
    at.newest_read = static_cast<std::uint32_t>(reads_.size());
    return ordered;
  }
  bool write(std::uint64_t cell, std::uint32_t process) {
    Cell& at = cells_[cell];
    bool ordered = at.references == 0 && after_write(at, process);
    for (std::uint32_t i = at.newest_read; i != 0; i = reads_[i - 1].older) {
      ordered = ordered && clocks_->ordered(process, reads_[i - 1].process, reads_[i - 1].time);
    }
    at.newest_read = 0;
    at.writer = process;
    at.written = clocks_->now(process);
    return ordered;
  }
  // A message refers to the cell until its receiver has read it there.
  void refer(std::uint64_t cell) { ++cells_[cell].references; }
  bool read_reference(std::uint64_t cell, std::uint32_t process) {
    --cells_[cell].references;
    return read(cell, process);
  }

 private:
  struct Read {
    std::uint32_t process, time;
    std::uint32_t older;  // index + 1 of the next older read of the cell, 0: none
  };
  struct Cell {
    std::uint32_t newest_read = 0;  // index + 1
    std::uint32_t references = 0;
    std::uint32_t writer = 0;
    std::uint32_t written = 0;  // 0: never
  };
  bool after_write(const Cell& cell, std::uint32_t process) const {
    return cell.written == 0 || clocks_->ordered(process, cell.writer, cell.written);
  }

  const Clocks* clocks_;
  std::vector<Cell> cells_;
  std::vector<Read> reads_;
};

}  // namespace gyre
