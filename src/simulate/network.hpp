// Flows over shared links in model time: each carries an amount, at the max-min fair rate of the
// moment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/events.hpp"
#include "simulate/max_min.hpp"

namespace gyre::sim {

class Network {
 public:
  explicit Network(std::span<const double> capacities)
      : rates_(capacities), carried_(capacities.size()) {}

  // A flow of at most `most` per second. It carries one amount after another.
  std::uint32_t add_flow(std::span<const std::uint32_t> route, double most);

  // Carries `amount` from `at` on, which is not before now(). The flow has nothing else to do.
  void carry(std::uint32_t flow, double amount, double at);

  // Goes on to the next time when something happens; false if nothing ever will. Flows that have
  // carried what they had to are then in done(), maybe none.
  bool advance();
  double now() const { return now_; }
  std::span<const std::uint32_t> done() const { return done_; }

  double carried(std::uint32_t link) const { return carried_[link]; }
  double peak(std::uint32_t link) const { return rates_.peak(link); }

 private:
  struct Flow {
    double amount = 0;
    double left = 0;
    double rate = 0;
    double since = 0;   // when `left` was right
    double finish = 0;  // with this rate
    bool runs = false;
  };

  void start(std::uint32_t flow);
  void finish(std::uint32_t flow);
  void settle();

  // An event is a flow that starts or, if it runs, finishes.
  Events events_;
  MaxMin rates_;
  std::vector<Flow> flows_;
  std::vector<double> carried_;
  std::vector<std::uint32_t> done_;
  double now_ = 0;
};

}  // namespace gyre::sim
