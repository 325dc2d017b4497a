// The lanes of a symbolic run: bounded FIFOs of messages between processes (strands of ranks).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/value.hpp"

namespace gyre {

inline constexpr std::uint32_t kNoProcess = ~std::uint32_t{0};
inline constexpr std::uint64_t kNoCell = ~std::uint64_t{0};

struct Message {
  Value value;
  std::uint64_t cell = kNoCell;    // sent by reference to this chunk of memory
  std::uint64_t offer = kNoCell;   // the receiver may write its result there
  std::uint64_t placed = kNoCell;  // the value is there already
};

class LanesModel {
 public:
  struct Lane {
    std::uint32_t from = 0, to = 0;
    std::uint32_t sender = kNoProcess, receiver = kNoProcess;
    std::uint64_t head = 0, tail = 0;
  };

  LanesModel(std::uint32_t world, std::uint32_t slots, std::uint32_t processes)
      : world_(world),
        slots_(slots),
        processes_(processes),
        index_(std::size_t{world} * world, kNoProcess) {}

  // Before the run: `process` sits at an end of the lane.
  void add_sender(std::uint32_t from, std::uint32_t to, std::uint32_t process) {
    add(from, to).sender = process;
  }
  void add_receiver(std::uint32_t from, std::uint32_t to, std::uint32_t process) {
    add(from, to).receiver = process;
  }

  Lane& lane(std::uint32_t from, std::uint32_t to) {
    return lanes_[index_[std::size_t{from} * world_ + to]];
  }
  std::span<const Lane> lanes() const { return lanes_; }
  static bool empty(const Lane& lane) { return lane.head == lane.tail; }
  bool full(const Lane& lane) const { return lane.tail - lane.head == slots_; }

  void push(Lane& lane, const Message& message, std::span<const std::uint32_t> clock) {
    const std::size_t slot = slot_of(lane, lane.tail++);
    messages_[slot] = message;
    std::copy(clock.begin(), clock.end(), clocks_.begin() + clock_of(slot));
  }
  // The front message stays readable until the lane's next push.
  const Message& front(const Lane& lane) const { return messages_[slot_of(lane, lane.head)]; }
  std::span<const std::uint32_t> front_clock(const Lane& lane) const {
    return {clocks_.data() + clock_of(slot_of(lane, lane.head)), processes_};
  }
  static void pop(Lane& lane) { ++lane.head; }

 private:
  Lane& add(std::uint32_t from, std::uint32_t to) {
    std::uint32_t& index = index_[std::size_t{from} * world_ + to];
    if (index == kNoProcess) {
      index = static_cast<std::uint32_t>(lanes_.size());
      lanes_.push_back({.from = from, .to = to});
      messages_.resize(lanes_.size() * slots_);
      clocks_.resize(messages_.size() * processes_);
    }
    return lanes_[index];
  }
  std::size_t slot_of(const Lane& lane, std::uint64_t position) const {
    return static_cast<std::size_t>(&lane - lanes_.data()) * slots_ + position % slots_;
  }
  std::ptrdiff_t clock_of(std::size_t slot) const {
    return static_cast<std::ptrdiff_t>(slot * processes_);
  }

  std::uint32_t world_, slots_, processes_;
  std::vector<std::uint32_t> index_;  // [from][to] -> lane
  std::vector<Lane> lanes_;
  std::vector<Message> messages_;      // [lane][slot]
  std::vector<std::uint32_t> clocks_;  // [lane][slot][process]
};

}  // namespace gyre
