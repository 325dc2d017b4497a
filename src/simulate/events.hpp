// Events in order of time. Those of one instant come out together, in the order they went in.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace gyre::sim {

// Ranks that do the same do it at the same time, to the last bit: thousands of events then share
// one place in the heap.
class Events {
 public:
  void push(double time, std::uint32_t event) {
    std::uint32_t& recent = recent_[std::bit_cast<std::uint64_t>(time) * kMix >> kShift];
    if (recent >= instants_.size() || !instants_[recent].waits || instants_[recent].time != time) {
      recent = open(time);
    }
    instants_[recent].events.push_back(event);
  }

  bool empty() const { return heap_.empty(); }
  // Precondition of both: !empty().
  double time() const { return heap_.front().time; }
  // All events of time(), valid until the next call.
  std::span<const std::uint32_t> pop() {
    const double now = time();
    popped_.clear();
    while (!heap_.empty() && heap_.front().time == now) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const std::uint32_t index = heap_.back().instant;
      heap_.pop_back();
      Instant& instant = instants_[index];
      if (popped_.empty()) {
        popped_.swap(instant.events);
      } else {
        popped_.insert(popped_.end(), instant.events.begin(), instant.events.end());
      }
      instant.events.clear();
      instant.waits = false;
      free_.push_back(index);
    }
    return popped_;
  }

 private:
  struct Instant {
    double time = 0;
    bool waits = false;
    std::vector<std::uint32_t> events;
  };
  struct Entry {
    double time;
    std::uint64_t order;
    std::uint32_t instant;
  };
  static constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15U;
  static constexpr int kShift = 56;

  static bool later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
  std::uint32_t open(double time) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(instants_.size()));
      instants_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    instants_[index].time = time;
    instants_[index].waits = true;
    heap_.push_back({time, order_++, index});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return index;
  }

  std::vector<Instant> instants_;
  std::vector<std::uint32_t> free_;
  std::vector<Entry> heap_;
  std::array<std::uint32_t, 256> recent_{};  // by hash of the time: where that time may be open
  std::vector<std::uint32_t> popped_;
  std::uint64_t order_ = 0;
};

}  // namespace gyre::sim
