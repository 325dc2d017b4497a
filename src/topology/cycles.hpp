// Round trips through small directed graphs, by dynamic programming over sets of nodes: exact and
// independent of luck up to kMostExact nodes. Knows nothing of machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gyre::topo {

// How many parallel arcs lead from each node to each other one; or what going there costs.
class Arcs {
 public:
  explicit Arcs(int nodes)
      : nodes_(nodes), values_(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes)) {}
  int nodes() const { return nodes_; }
  std::int64_t& at(int from, int to) { return values_[index(from, to)]; }
  std::int64_t at(int from, int to) const { return values_[index(from, to)]; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes_) +
           static_cast<std::size_t>(to);
  }
  int nodes_;
  std::vector<std::int64_t> values_;
};

constexpr int kMostExact = 16;

// Visits every node once and returns to the first. Of one node: itself.
using Cycle = std::vector<int>;

// Steps that a search may still make.
struct Budget {
  std::int64_t steps;
};

struct DisjointCycles {
  std::vector<Cycle> cycles;
  bool best = false;  // no set can have more: a bound is reached
};

// As many cycles, up to `most`, as are found within the budget so that none needs an arc another
// has used up. One is always found if there is one. At most kMostExact nodes.
DisjointCycles disjoint_cycles(const Arcs& counts, int most, Budget budget);

// The cycle of least cost, exact up to kMostExact nodes, else improved from the order of the nodes.
Cycle cheapest_cycle(const Arcs& costs);
// The way of least cost from one node to another one over all others; exact as above.
Cycle cheapest_way(const Arcs& costs, int from, int to);

}  // namespace gyre::topo
