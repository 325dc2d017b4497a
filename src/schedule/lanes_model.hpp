// The lanes of a symbolic run: bounded FIFOs of messages between processes (strands of ranks),
// those between the two strands of a rank included.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/value.hpp"

namespace gyre {

inline constexpr std::uint32_t kNoProcess = ~std::uint32_t{0};
inline constexpr std::uint64_t kNoCell = ~std::uint64_t{0};

// The values of the chunks it carries, or none (a token).
struct Message {
  std::vector<Value> values;
  std::uint64_t cell = kNoCell;    // sent by reference to this chunk of memory,
  std::uint64_t copied = kNoCell;  // or, where an executor prefers it, to what that is a copy of
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
        index_(std::size_t{world} * world + std::size_t{2} * world, kNoProcess) {}

  // Before the run: `process` sits at an end of the lane.
  void add_sender(std::uint32_t from, std::uint32_t to, std::uint32_t process) {
    add(between(from, to), from, to).sender = process;
  }
  void add_receiver(std::uint32_t from, std::uint32_t to, std::uint32_t process) {
    add(between(from, to), from, to).receiver = process;
  }
  // The lane for tokens of a rank's strand to its other one.
  void add_local(std::uint32_t rank, std::uint32_t strand, std::uint32_t from, std::uint32_t to) {
    Lane& lane = add(within(rank, strand), rank, rank);
    lane.sender = from;
    lane.receiver = to;
  }

  Lane& lane(std::uint32_t from, std::uint32_t to) { return lanes_[index_[between(from, to)]]; }
  Lane& local(std::uint32_t rank, std::uint32_t strand) {
    return lanes_[index_[within(rank, strand)]];
  }
  std::span<const Lane> lanes() const { return lanes_; }
  static bool empty(const Lane& lane) { return lane.head == lane.tail; }
  bool full(const Lane& lane) const { return lane.tail - lane.head == slots_; }

  // A message of these values, for the sender to complete. Nothing is allocated once the slot has
  // carried as many.
  Message& push(Lane& lane, std::span<const Value> values, std::span<const std::uint32_t> clock) {
    const std::size_t slot = slot_of(lane, lane.tail++);
    Message& message = messages_[slot];
    message.values.assign(values.begin(), values.end());
    message.cell = message.copied = message.offer = message.placed = kNoCell;
    std::copy(clock.begin(), clock.end(), clocks_.begin() + clock_of(slot));
    return message;
  }
  // The front message stays readable until the lane's next push.
  const Message& front(const Lane& lane) const { return messages_[slot_of(lane, lane.head)]; }
  std::span<const std::uint32_t> front_clock(const Lane& lane) const {
    return {clocks_.data() + clock_of(slot_of(lane, lane.head)), processes_};
  }
  static void pop(Lane& lane) { ++lane.head; }

 private:
  std::size_t between(std::uint32_t from, std::uint32_t to) const {
    return std::size_t{from} * world_ + to;
  }
  std::size_t within(std::uint32_t rank, std::uint32_t strand) const {
    return std::size_t{world_} * world_ + 2 * std::size_t{rank} + strand;
  }
  Lane& add(std::size_t at, std::uint32_t from, std::uint32_t to) {
    std::uint32_t& index = index_[at];
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
  std::vector<std::uint32_t> index_;  // [from][to], then [rank][strand] -> lane
  std::vector<Lane> lanes_;
  std::vector<Message> messages_;      // [lane][slot]
  std::vector<std::uint32_t> clocks_;  // [lane][slot][process]
};

}  // namespace gyre
