#include "topology/cycles.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace gyre::topo {
namespace {

using Set = std::uint32_t;

// Numbers that look random and are the same in every run.
class Numbers {
 public:
  std::uint64_t below(std::uint64_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % bound;
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

// For each set of nodes without node 0: the nodes that a way from 0 over exactly that set can end
// at.
std::vector<Set> ends_of_ways(const Arcs& counts) {
  const int others = counts.nodes() - 1;
  std::vector<Set> before(static_cast<std::size_t>(others));  // who leads to a node
  for (int to = 0; to < others; ++to) {
    for (int from = 0; from < others; ++from) {
      if (counts.at(from + 1, to + 1) > 0) before[static_cast<std::size_t>(to)] |= Set{1} << from;
    }
  }
  std::vector<Set> ends(std::size_t{1} << others);
  for (Set set = 1; set < ends.size(); ++set) {
    for (Set rest = set; rest != 0; rest &= rest - 1) {
      const int last = std::countr_zero(rest);
      const Set without = set & ~(Set{1} << last);
      const bool there = without == 0
                             ? counts.at(0, last + 1) > 0
                             : (ends[without] & before[static_cast<std::size_t>(last)]) != 0;
      if (there) ends[set] |= Set{1} << last;
    }
  }
  return ends;
}

// One of `candidates` that leads to `to`, the more likely the more arcs it has: single arcs are
// kept for the cycles that find nothing else. -1 if none does.
int pick(const Arcs& counts, Set candidates, int to, Numbers& numbers) {
  const auto weight = [&](int node) {
    const auto arcs = static_cast<std::uint64_t>(std::min<std::int64_t>(counts.at(node, to), 64));
    return arcs * arcs * arcs;
  };
  std::uint64_t total = 0;
  for (Set rest = candidates; rest != 0; rest &= rest - 1) {
    total += weight(std::countr_zero(rest) + 1);
  }
  if (total == 0) return -1;
  std::uint64_t left = numbers.below(total);
  for (Set rest = candidates; rest != 0; rest &= rest - 1) {
    const int node = std::countr_zero(rest) + 1;
    if (left < weight(node)) return node;
    left -= weight(node);
  }
  return -1;
}

std::optional<Cycle> find_cycle(const Arcs& counts, Numbers& numbers, Budget& budget) {
  const int nodes = counts.nodes();
  if (nodes < 2) return std::nullopt;
  budget.steps -= static_cast<std::int64_t>(nodes) << (nodes - 1);
  const std::vector<Set> ends = ends_of_ways(counts);
  Set set = static_cast<Set>(ends.size() - 1);
  Cycle backwards;
  int to = 0;
  while (set != 0) {
    const int node = pick(counts, ends[set], to, numbers);
    if (node < 0) return std::nullopt;
    backwards.push_back(node);
    set &= ~(Set{1} << (node - 1));
    to = node;
  }
  backwards.push_back(0);
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

// Takes the cycle's arcs away; false, and nothing taken, if one is not there.
bool take(Arcs& counts, const Cycle& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (counts.at(cycle[i], cycle[(i + 1) % cycle.size()]) < 1) return false;
  }
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    --counts.at(cycle[i], cycle[(i + 1) % cycle.size()]);
  }
  return true;
}

Cycle reversed(const Cycle& cycle) {
  Cycle turned(cycle.rbegin(), cycle.rend());
  std::rotate(turned.begin(), turned.end() - 1, turned.end());
  return turned;
}

// A cycle comes to a node and leaves it by two others, of which only one can be a given neighbour:
// so each takes one arc at least of those between the node and its other neighbours.
std::int64_t most_past(const Arcs& counts, int node, int neighbour) {
  std::int64_t arcs = 0;
  for (int other = 0; other < counts.nodes(); ++other) {
    if (other != node && other != neighbour)
      arcs += counts.at(node, other) + counts.at(other, node);
  }
  return arcs;
}

// Each cycle leaves every set of nodes at least once, so there are no more than a set has arcs.
int most_possible(const Arcs& counts, int most) {
  const int nodes = counts.nodes();
  std::int64_t least = most;
  for (int node = 0; nodes > 2 && node < nodes; ++node) {
    for (int neighbour = 0; neighbour < nodes; ++neighbour) {
      if (neighbour != node) least = std::min(least, most_past(counts, node, neighbour));
    }
  }
  const Set all = (Set{1} << nodes) - 1;
  for (Set set = 1; set < all; ++set) {
    std::int64_t leaving = 0;
    for (int from = 0; from < nodes && leaving < least; ++from) {
      if ((set >> from & 1) == 0) continue;
      for (int to = 0; to < nodes; ++to) {
        if ((set >> to & 1) == 0) leaving += counts.at(from, to);
      }
    }
    least = std::min(least, leaving);
  }
  return static_cast<int>(least);
}

// One try: cycle after cycle until none is left. In pairs: each with its reverse where that is
// there.
std::vector<Cycle> take_cycles(Arcs counts, int most, bool in_pairs, Numbers& numbers,
                               Budget& budget) {
  std::vector<Cycle> cycles;
  while (std::ssize(cycles) < most) {
    auto cycle = find_cycle(counts, numbers, budget);
    if (!cycle) break;
    take(counts, *cycle);
    Cycle back = reversed(*cycle);
    cycles.push_back(*std::move(cycle));
    if (in_pairs && std::ssize(cycles) < most && take(counts, back)) {
      cycles.push_back(std::move(back));
    }
  }
  return cycles;
}

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;

// Least costs of the ways from `from` over each set of nodes to each of them, and the way of least
// cost over all nodes to `to` (back to `from` if that is the same node).
Cycle cheapest_exact(const Arcs& costs, int from, int to) {
  const auto nodes = static_cast<std::size_t>(costs.nodes());
  const std::size_t sets = std::size_t{1} << nodes;
  std::vector<std::int64_t> least(sets * nodes, kFar);
  const auto first = static_cast<std::size_t>(from);
  least[(std::size_t{1} << first) * nodes + first] = 0;
  for (std::size_t set = 0; set < sets; ++set) {
    for (std::size_t last = 0; last < nodes; ++last) {
      const std::int64_t so_far = least[set * nodes + last];
      if (so_far == kFar) continue;
      for (std::size_t next = 0; next < nodes; ++next) {
        if ((set >> next & 1) != 0) continue;
        auto& there = least[(set | std::size_t{1} << next) * nodes + next];
        there = std::min(there, so_far + costs.at(static_cast<int>(last), static_cast<int>(next)));
      }
    }
  }
  std::size_t set = sets - 1;
  std::size_t at = static_cast<std::size_t>(to);
  if (from == to) {
    std::int64_t best = kFar;
    for (std::size_t last = 0; last < nodes; ++last) {
      const std::int64_t total = least[set * nodes + last] + costs.at(static_cast<int>(last), from);
      if (last != first && total < best) best = total, at = last;
    }
  }
  Cycle way;
  while (at != first) {
    way.push_back(static_cast<int>(at));
    const std::int64_t here = least[set * nodes + at];
    set &= ~(std::size_t{1} << at);
    for (std::size_t before = 0; before < nodes; ++before) {
      const std::int64_t there = least[set * nodes + before];
      if (there < kFar &&
          there + costs.at(static_cast<int>(before), static_cast<int>(at)) == here) {
        at = before;
        break;
      }
    }
  }
  way.push_back(from);
  std::reverse(way.begin(), way.end());
  return way;
}

std::int64_t cost_of(const Arcs& costs, const Cycle& order, bool closed) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) total += costs.at(order[i], order[i + 1]);
  return closed ? total + costs.at(order.back(), order.front()) : total;
}

// Turns stretches around while that makes it cheaper; the first node, and the last one of an open
// way, stay.
void improve(const Arcs& costs, Cycle& order, bool closed) {
  const std::size_t last = closed ? order.size() : order.size() - 1;
  std::int64_t cost = cost_of(costs, order, closed);
  for (bool better = true; better;) {
    better = false;
    for (std::size_t i = 1; i + 1 < last; ++i) {
      for (std::size_t j = i + 2; j <= last; ++j) {
        const auto begin = order.begin() + static_cast<std::ptrdiff_t>(i);
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(j);
        std::reverse(begin, end);
        if (const std::int64_t now = cost_of(costs, order, closed); now < cost) {
          cost = now;
          better = true;
        } else {
          std::reverse(begin, end);
        }
      }
    }
  }
}

}  // namespace

DisjointCycles disjoint_cycles(const Arcs& counts, int most, Budget budget) {
  DisjointCycles best;
  if (counts.nodes() < 2 || counts.nodes() > kMostExact) return best;
  const int bound = most_possible(counts, most);
  Numbers numbers;
  // Tries in small graphs are cheap and soon repeat each other.
  constexpr int kPatience = 3000;
  int since_better = 0;
  bool in_pairs = true;
  while (std::ssize(best.cycles) < bound && budget.steps > 0 && ++since_better < kPatience) {
    auto cycles = take_cycles(counts, bound, in_pairs, numbers, budget);
    if (cycles.empty()) {
      best.best = true;  // there is no cycle at all: the search for one is exact
      return best;
    }
    if (cycles.size() > best.cycles.size()) {
      best.cycles = std::move(cycles);
      since_better = 0;
    }
    in_pairs = !in_pairs;
  }
  best.best = std::ssize(best.cycles) >= bound;
  return best;
}

Cycle cheapest_cycle(const Arcs& costs) {
  if (costs.nodes() > 1 && costs.nodes() <= kMostExact) return cheapest_exact(costs, 0, 0);
  Cycle order(static_cast<std::size_t>(costs.nodes()));
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > 3) improve(costs, order, true);
  return order;
}

Cycle cheapest_way(const Arcs& costs, int from, int to) {
  if (costs.nodes() < 2 || from == to) return {from};
  if (costs.nodes() <= kMostExact) return cheapest_exact(costs, from, to);
  Cycle order{from};
  for (int node = 0; node < costs.nodes(); ++node) {
    if (node != from && node != to) order.push_back(node);
  }
  order.push_back(to);
  improve(costs, order, false);
  return order;
}

}  // namespace gyre::topo
