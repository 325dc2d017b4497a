#include "topology/rings.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "topology/direct.hpp"
#include "topology/paths.hpp"

namespace gyre::topo {
namespace {

std::int64_t cost_of(PathKind kind) {
  // Powers of a number above the steps of any ring searched exactly, so that nothing near makes up
  // for something far.
  constexpr std::int64_t kStep = 128;
  constexpr std::array<std::int64_t, 11> kCosts = {
      0,
      0,                                      // nvlink
      0,                                      // xgmi
      0,                                      // c2c
      1,                                      // pix
      kStep,                                  // pxb
      kStep * kStep,                          // phb
      kStep * kStep * kStep,                  // node
      kStep * kStep * kStep * kStep,          // sys
      kStep * kStep * kStep * kStep * kStep,  // net
      kStep * kStep * kStep * kStep * kStep,  // unknown
  };
  return kCosts.at(static_cast<std::size_t>(kind));
}

// Whether all pairs reach each other through switches, so that any order is as good as another.
bool all_switched(const Topology& topology, std::span<const NodeId> devices) {
  for (std::size_t i = 1; i < devices.size(); ++i) {
    const auto link = direct_link(topology, devices[0], devices[i]);
    if (!link || !link->switched) return false;
  }
  return devices.size() > 1;
}

std::vector<NodeId> named(std::span<const NodeId> devices, const Cycle& cycle) {
  std::vector<NodeId> order;
  for (const int at : cycle) order.push_back(devices[static_cast<std::size_t>(at)]);
  return order;
}

// The least bandwidth of one link of each step.
Figure link_bandwidth(const Topology& topology, const std::vector<NodeId>& order) {
  Figure least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto link = direct_link(topology, order[i], order[(i + 1) % order.size()]);
    if (!link || !link->bandwidth) return {};
    least = std::min(*least, *link->bandwidth / link->count);
  }
  return least;
}

Figure sum_of(const std::vector<Ring>& rings) {
  double total = 0;
  for (const Ring& ring : rings) {
    if (!ring.bandwidth) return {};
    total += *ring.bandwidth;
  }
  return total;
}

// Every ring takes one link of each GPU to the switches. Through a switch all orders carry the
// same, so they differ only to spread over it: steps of each length that visits everyone.
RingSet switched_rings(const Topology& topology, std::span<const NodeId> devices,
                       const RingOptions& options) {
  const auto count = static_cast<int>(devices.size());
  int ports = std::numeric_limits<int>::max();
  for (const NodeId device : devices) {
    ports = std::min(ports, switch_ports(topology, device)->count);
  }
  std::vector<int> lengths;
  for (int length = 1; 2 * length <= count; ++length) {
    if (std::gcd(length, count) != 1) continue;
    lengths.push_back(length);
    if (2 * length != count) lengths.push_back(count - length);
  }
  RingSet set;
  const int rings = std::min(ports, options.most);
  for (int ring = 0; ring < rings; ++ring) {
    const int length = lengths[static_cast<std::size_t>(ring) % lengths.size()];
    Cycle cycle;
    for (int i = 0, at = 0; i < count; ++i, at = (at + length) % count) cycle.push_back(at);
    Ring made{named(devices, cycle), {}, true};
    made.bandwidth = link_bandwidth(topology, made.order);
    // Fewer rings than ports: each takes several.
    if (made.bandwidth) *made.bandwidth *= static_cast<double>(ports) / rings;
    set.rings.push_back(std::move(made));
  }
  set.best = true;
  set.bandwidth = sum_of(set.rings);
  return set;
}

RingSet direct_rings(const Topology& topology, std::span<const NodeId> devices, const Arcs& arcs,
                     const RingOptions& options) {
  RingSet set;
  const DisjointCycles found = disjoint_cycles(arcs, options.most, {options.budget});
  for (const Cycle& cycle : found.cycles) {
    Ring ring{named(devices, cycle), {}, true};
    ring.bandwidth = link_bandwidth(topology, ring.order);
    set.rings.push_back(std::move(ring));
  }
  set.best = found.best;
  set.bandwidth = sum_of(set.rings);
  return set;
}

// The bandwidth of rings that share PCI and socket links: each gets its part of the busiest.
void share_links(const Topology& topology, std::vector<Ring>& rings, const Arcs& arcs,
                 std::span<const NodeId> devices) {
  std::map<NodeId, int> position;
  for (std::size_t i = 0; i < devices.size(); ++i) position[devices[i]] = static_cast<int>(i);
  std::map<std::pair<NodeId, NodeId>, int> loads;
  std::vector<std::vector<Path>> paths(rings.size());
  Arcs left = arcs;
  for (std::size_t r = 0; r < rings.size(); ++r) {
    const auto& order = rings[r].order;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const NodeId from = order[i];
      const NodeId to = order[(i + 1) % order.size()];
      auto& links = left.at(position[from], position[to]);
      const bool direct = links > 0;
      if (direct) --links;
      Path path = direct ? shortest_path(topology, from, to) : host_path(topology, from, to);
      // A direct link is this ring's own.
      if (direct && path.bandwidth && path.links > 1) *path.bandwidth /= path.links;
      for (std::size_t k = 0; !direct && k + 1 < path.nodes.size(); ++k) {
        ++loads[{path.nodes[k], path.nodes[k + 1]}];
      }
      paths[r].push_back(std::move(path));
    }
  }
  const auto part = [&](const Path& path) {
    Figure least = path.bandwidth;
    for (std::size_t k = 0; least && k + 1 < path.nodes.size(); ++k) {
      const auto load = loads.find({path.nodes[k], path.nodes[k + 1]});
      if (load == loads.end()) continue;
      for (const Link& link : topology.links(path.nodes[k])) {
        if (link.to != path.nodes[k + 1] || !link.bandwidth) continue;
        least = std::min(*least, *link.bandwidth / load->second);
      }
    }
    return least;
  };
  for (std::size_t r = 0; r < rings.size(); ++r) {
    Figure least = std::numeric_limits<double>::infinity();
    for (const Path& path : paths[r]) {
      const Figure here = part(path);
      least = least && here ? Figure(std::min(*least, *here)) : Figure();
    }
    rings[r].bandwidth = least;
  }
}

std::int64_t cost_of(const Arcs& costs, const Cycle& cycle) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    total += costs.at(cycle[i], cycle[(i + 1) % cycle.size()]);
  }
  return total;
}

// Takes the direct links that a cycle uses; how many those are.
int take_direct(Arcs& left, const Cycle& cycle) {
  int taken = 0;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    auto& links = left.at(cycle[i], cycle[(i + 1) % cycle.size()]);
    if (links > 0) --links, ++taken;
  }
  return taken;
}

Arcs host_costs(const Topology& topology, std::span<const NodeId> devices) {
  const auto count = static_cast<int>(devices.size());
  Arcs costs(count);
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      const Path path = host_path(topology, devices[static_cast<std::size_t>(from)],
                                  devices[static_cast<std::size_t>(to)]);
      costs.at(from, to) = cost_of(path.kind);
    }
  }
  return costs;
}

// The costs, but nothing where `arcs` has a link.
Arcs free_where(const Arcs& arcs, Arcs costs) {
  for (int from = 0; from < costs.nodes(); ++from) {
    for (int to = 0; to < costs.nodes(); ++to) {
      if (arcs.at(from, to) > 0) costs.at(from, to) = 0;
    }
  }
  return costs;
}

// The cheapest ring and its reverse, and further ones as long as direct links are left that make
// them as cheap.
RingSet mixed_rings(const Topology& topology, std::span<const NodeId> devices, const Arcs& arcs,
                    const RingOptions& options) {
  RingSet set;
  Arcs left = arcs;
  std::optional<std::int64_t> least;
  const Arcs over_host = host_costs(topology, devices);
  const auto fits = [&](const Cycle& cycle) {
    return std::ssize(set.rings) < options.most &&
           cost_of(free_where(left, over_host), cycle) <= *least;
  };
  while (std::ssize(set.rings) < options.most) {
    const Arcs costs = free_where(left, over_host);
    Cycle cycle = cheapest_cycle(costs);
    if (least && cost_of(costs, cycle) > *least) break;
    least = cost_of(costs, cycle);
    const int taken = take_direct(left, cycle);
    set.rings.push_back({named(devices, cycle), {}, false});
    std::reverse(cycle.begin() + 1, cycle.end());
    if (devices.size() > 2 && fits(cycle)) {
      take_direct(left, cycle);
      set.rings.push_back({named(devices, cycle), {}, false});
    }
    if (taken == 0) break;
  }
  for (Ring& ring : set.rings) ring.direct = least == 0;
  share_links(topology, set.rings, arcs, devices);
  set.best = devices.size() <= static_cast<std::size_t>(kMostExact);
  set.bandwidth = sum_of(set.rings);
  return set;
}

}  // namespace

Arcs direct_arcs(const Topology& topology, std::span<const NodeId> devices) {
  const auto count = static_cast<int>(devices.size());
  Arcs arcs(count);
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      const auto link = direct_link(topology, devices[static_cast<std::size_t>(from)],
                                    devices[static_cast<std::size_t>(to)]);
      if (link) arcs.at(from, to) = link->count;
    }
  }
  return arcs;
}

Arcs distances(const Topology& topology, std::span<const NodeId> devices, const Arcs& arcs) {
  return free_where(arcs, host_costs(topology, devices));
}

RingSet find_rings(const Topology& topology, std::span<const NodeId> devices,
                   const RingOptions& options) {
  if (devices.empty()) return {};
  if (devices.size() == 1) return {{{{devices[0]}, {}, false}}, {}, true};
  if (all_switched(topology, devices)) return switched_rings(topology, devices, options);
  const Arcs arcs = direct_arcs(topology, devices);
  RingSet direct = direct_rings(topology, devices, arcs, options);
  return direct.rings.empty() ? mixed_rings(topology, devices, arcs, options) : direct;
}

}  // namespace gyre::topo
