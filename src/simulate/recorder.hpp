// Keeps steps and messages for the timeline, if that is wanted.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "schedule/cursor.hpp"
#include "simulate/timeline.hpp"

namespace gyre::sim {

class Recorder {
 public:
  Recorder(bool on, std::size_t lanes) : on_(on), under_way_(on ? lanes : 0) {}
  bool on() const { return on_; }

  void add_step(const StepSpan& span) { spans_.push_back(span); }
  // Messages of a lane arrive in the order in which they were sent.
  void add_message(std::uint32_t lane, const Flight& flight) {
    under_way_[lane].push_back(flights_.size());
    flights_.push_back(flight);
  }
  void arrive(std::uint32_t lane, double at) {
    flights_[under_way_[lane].front()].arrived = at;
    under_way_[lane].pop_front();
  }

  void move_to(Timeline& timeline) {
    timeline.spans = std::move(spans_);
    timeline.flights = std::move(flights_);
  }

 private:
  bool on_;
  std::vector<std::deque<std::size_t>> under_way_;  // lane -> its flights that have not arrived
  std::vector<StepSpan> spans_;
  std::vector<Flight> flights_;
};

}  // namespace gyre::sim
