#include "topology/host_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

#include "topology/orders.hpp"
#include "topology/paths.hpp"

namespace gyre::topo {
namespace {

constexpr std::array kHostKinds = {NodeKind::cpu, NodeKind::bridge, NodeKind::gpu,
                                   NodeKind::nvswitch, NodeKind::nic};

void append(std::string& text, Figure figure) {
  text += figure ? fmt::format("{},", *figure) : std::string("?,");
}

// Which device serves each rail: the nearest, and among those the one that serves the fewest yet.
std::vector<int> devices_of_rails(const std::vector<std::vector<PathKind>>& kinds, int rails) {
  std::vector<int> chosen;
  std::vector<int> used(kinds.size());
  for (int rail = 0; rail < rails; ++rail) {
    std::size_t best = 0;
    for (std::size_t device = 1; device < kinds.size(); ++device) {
      const auto at = static_cast<std::size_t>(rail);
      if (std::tie(kinds[device][at], used[device]) < std::tie(kinds[best][at], used[best])) {
        best = device;
      }
    }
    ++used[best];
    chosen.push_back(static_cast<int>(best));
  }
  return chosen;
}

// The rail that each device sends on: one that it serves, else the nearest.
std::vector<int> rails_of_devices(const std::vector<std::vector<PathKind>>& kinds,
                                  const std::vector<int>& device_of_rail) {
  std::vector<int> chosen;
  for (std::size_t device = 0; device < kinds.size(); ++device) {
    const auto served =
        std::find(device_of_rail.begin(), device_of_rail.end(), static_cast<int>(device));
    if (served != device_of_rail.end()) {
      chosen.push_back(static_cast<int>(served - device_of_rail.begin()));
      continue;
    }
    const auto& row = kinds[device];
    const auto nearest = std::min_element(row.begin(), row.end());
    chosen.push_back(nearest == row.end() ? -1 : static_cast<int>(nearest - row.begin()));
  }
  return chosen;
}

}  // namespace

HostPlan plan_host(const Topology& topology, std::uint32_t host, const RingOptions& options) {
  const auto devices = topology.devices(host);
  std::map<NodeId, int> position;
  for (std::size_t i = 0; i < devices.size(); ++i) position[devices[i]] = static_cast<int>(i);
  const auto positions = [&](const std::vector<NodeId>& nodes) {
    Cycle places;
    for (const NodeId node : nodes) places.push_back(position[node]);
    return places;
  };

  HostPlan plan;
  const RingSet rings = find_rings(topology, devices, options);
  for (const Ring& ring : rings.rings) plan.rings.push_back(positions(ring.order));
  plan.ring_bandwidth = rings.bandwidth;
  plan.best = rings.best;
  for (const Tree& tree : find_trees(topology, devices, rings)) {
    const Cycle places = positions(tree.nodes);
    Parents parents(places.size(), -1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const int parent = tree.parents[i];
      if (parent >= 0) {
        parents[static_cast<std::size_t>(places[i])] = places[static_cast<std::size_t>(parent)];
      }
    }
    plan.trees.push_back(std::move(parents));
    plan.tree_bandwidth.push_back(tree.bandwidth);
  }

  const std::vector<NodeId> rails = rails_of(topology, host);
  std::vector<std::vector<PathKind>> kinds;
  for (const NodeId device : devices) {
    auto& row = kinds.emplace_back();
    for (const NodeId rail : rails) row.push_back(shortest_path(topology, device, rail).kind);
  }
  if (!devices.empty()) {
    plan.device_of_rail = devices_of_rails(kinds, static_cast<int>(rails.size()));
  }
  plan.rail_of_device = rails_of_devices(kinds, plan.device_of_rail);
  for (const NodeId rail : rails) {
    plan.rail_bandwidth.push_back(topology.node(rail).nic()->bandwidth);
  }
  plan.costs = distances(topology, devices, direct_arcs(topology, devices));
  return plan;
}

std::string shape_of(const Topology& topology, std::uint32_t host) {
  std::string text;
  NodeId base = kNoNode;
  for (const NodeKind kind : kHostKinds) {
    for (const NodeId id : topology.of(host, kind)) base = std::min(base, id);
  }
  for (const NodeKind kind : kHostKinds) {
    for (const NodeId id : topology.of(host, kind)) {
      const Node& node = topology.node(id);
      const NodeId parent = node.parent == kNoNode ? kNoNode : node.parent - base;
      fmt::format_to(std::back_inserter(text), "{}:{},{},{},", static_cast<int>(kind), id - base,
                     parent, node.root);
      if (const NicFacts* nic = node.nic()) {
        append(text, nic->bandwidth);
        fmt::format_to(std::back_inserter(text), "{},{},", nic->rail, nic->verbs);
      }
      for (const Link& link : topology.links(id)) {
        if (link.kind == LinkKind::net) continue;
        fmt::format_to(std::back_inserter(text), "{}>{}x{}", static_cast<int>(link.kind),
                       link.to - base, link.count);
        append(text, link.bandwidth);
      }
      text += ';';
    }
  }
  return text;
}

}  // namespace gyre::topo
