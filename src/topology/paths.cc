#include "topology/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "topology/direct.hpp"

namespace gyre::topo {
namespace {

// How far a single step leads: the rank of the best path that may contain it.
enum Reach : int { kLinks, kBridges, kProcessor, kSockets, kNetwork, kReaches };

int reach_of(const Topology& topology, NodeId from, const Link& link) {
  switch (link.kind) {
    case LinkKind::nvlink:
    case LinkKind::xgmi:
    case LinkKind::c2c:
      return kLinks;
    case LinkKind::pcie:
      return topology.node(from).kind == NodeKind::cpu ||
                     topology.node(link.to).kind == NodeKind::cpu
                 ? kProcessor
                 : kBridges;
    case LinkKind::sys:
      return kSockets;
    case LinkKind::net:
      break;
  }
  return kNetwork;
}

// Whether a path may go on from `at` over `link` having come over `before`.
bool passes_on(const Topology& topology, NodeId at, LinkKind before, const Link& link, int reach) {
  switch (topology.node(at).kind) {
    case NodeKind::gpu:
      return false;
    case NodeKind::nic:
      return (before == LinkKind::net) != (link.kind == LinkKind::net);
    case NodeKind::cpu:
      return reach >= kProcessor;
    case NodeKind::bridge:
    case NodeKind::nvswitch:
    case NodeKind::net_switch:
      return true;
  }
  return false;
}

using Allowed = std::function<bool(NodeId from, const Link& link)>;

// Breadth first over the links allowed; the nodes from end to end, or none.
std::vector<NodeId> fewest_nodes(const Topology& topology, NodeId from, NodeId to, int reach,
                                 const Allowed& allowed) {
  struct Visit {
    NodeId before = kNoNode;
    LinkKind over = LinkKind::pcie;
  };
  // A map: of a cluster's nodes, a path within a host sees very few.
  std::unordered_map<NodeId, Visit> visits{{from, Visit{}}};
  std::vector<NodeId> frontier{from};
  for (std::size_t i = 0; i < frontier.size() && !visits.contains(to); ++i) {
    const NodeId at = frontier[i];
    const LinkKind over = visits[at].over;
    for (const Link& link : topology.links(at)) {
      if (visits.contains(link.to) || reach_of(topology, at, link) > reach) continue;
      if (at != from && !passes_on(topology, at, over, link, reach)) continue;
      if (!allowed(at, link)) continue;
      visits[link.to] = {at, link.kind};
      frontier.push_back(link.to);
    }
  }
  if (!visits.contains(to)) return {};
  std::vector<NodeId> nodes{to};
  while (nodes.back() != from) nodes.push_back(visits[nodes.back()].before);
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

// The bandwidth of a link as part of a path: all links of a GPU to its switches carry one transfer.
Figure capacity_of(const Topology& topology, NodeId from, const Link& link) {
  const bool from_switch = topology.node(from).kind == NodeKind::nvswitch;
  const bool to_switch = topology.node(link.to).kind == NodeKind::nvswitch;
  if (link.kind != LinkKind::nvlink || (!from_switch && !to_switch)) return link.bandwidth;
  if (from_switch && to_switch) return std::numeric_limits<double>::infinity();
  const auto ports = switch_ports(topology, from_switch ? link.to : from);
  return ports ? ports->bandwidth : link.bandwidth;
}

// The best of the links allowed from one node to the next.
const Link* link_between(const Topology& topology, NodeId from, NodeId to, const Allowed& allowed) {
  const Link* best = nullptr;
  for (const Link& link : topology.links(from)) {
    if (link.to != to || !allowed(from, link)) continue;
    if (best == nullptr || reach_of(topology, from, link) < reach_of(topology, from, *best)) {
      best = &link;
    }
  }
  return best;
}

// The PCI host bridge above a node; -1 if nothing says which.
int root_of(const Topology& topology, NodeId id) {
  while (id != kNoNode) {
    const Node& node = topology.node(id);
    if (node.root >= 0 || node.kind == NodeKind::cpu) return node.root;
    id = node.parent;
  }
  return -1;
}

PathKind kind_of(const Topology& topology, const std::vector<NodeId>& nodes, int reach,
                 LinkKind nearest) {
  switch (reach) {
    case kLinks:
      return nearest == LinkKind::c2c    ? PathKind::c2c
             : nearest == LinkKind::xgmi ? PathKind::xgmi
                                         : PathKind::nvlink;
    case kBridges:
      return nodes.size() <= 3 ? PathKind::pix : PathKind::pxb;
    case kProcessor: {
      const int first = root_of(topology, nodes.front());
      const int last = root_of(topology, nodes.back());
      return first >= 0 && last >= 0 && first != last ? PathKind::node : PathKind::phb;
    }
    case kSockets:
      return PathKind::sys;
    default:
      return PathKind::net;
  }
}

Path described(const Topology& topology, std::vector<NodeId> nodes, const Allowed& allowed) {
  Path path;
  path.bandwidth = std::numeric_limits<double>::infinity();
  path.latency = 0;
  int reach = kLinks;
  LinkKind nearest = LinkKind::nvlink;
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    const Link& link = *link_between(topology, nodes[i], nodes[i + 1], allowed);
    const Figure capacity = capacity_of(topology, nodes[i], link);
    path.bandwidth =
        path.bandwidth && capacity ? Figure(std::min(*path.bandwidth, *capacity)) : Figure();
    path.latency = path.latency && link.latency ? Figure(*path.latency + *link.latency) : Figure();
    reach = std::max(reach, reach_of(topology, nodes[i], link));
    if (i > 0 && topology.node(nodes[i]).kind == NodeKind::cpu)
      reach = std::max(reach, +kProcessor);
    nearest = link.kind;
    path.links = link.count;
  }
  path.kind = kind_of(topology, nodes, reach, nearest);
  if (path.kind == PathKind::nvlink || path.kind == PathKind::xgmi) {
    const auto direct = direct_link(topology, nodes.front(), nodes.back());
    if (direct) path.links = direct->count;
    if (direct) path.bandwidth = direct->bandwidth;
  } else {
    path.links = 0;
  }
  path.nodes = std::move(nodes);
  return path;
}

Path itself(NodeId node) { return {PathKind::self, 0, {}, {}, {node}}; }

Path nearest_path(const Topology& topology, NodeId from, NodeId to, const Allowed& allowed) {
  if (from == to) return itself(from);
  for (int reach = kLinks; reach < kReaches; ++reach) {
    auto nodes = fewest_nodes(topology, from, to, reach, allowed);
    if (!nodes.empty()) return described(topology, std::move(nodes), allowed);
  }
  return {};
}

// The widest narrowest link of any path.
double best_bottleneck(const Topology& topology, NodeId from, NodeId to) {
  std::vector<double> best(topology.nodes().size(), -1);
  std::vector<LinkKind> over(topology.nodes().size(), LinkKind::pcie);
  std::priority_queue<std::pair<double, NodeId>> open;
  best[from] = std::numeric_limits<double>::infinity();
  open.emplace(best[from], from);
  while (!open.empty()) {
    const auto [width, at] = open.top();
    open.pop();
    if (at == to) return width;
    if (width < best[at]) continue;
    for (const Link& link : topology.links(at)) {
      if (at != from && !passes_on(topology, at, over[at], link, kNetwork)) continue;
      const double next = std::min(width, capacity_of(topology, at, link).value_or(0));
      if (next <= best[link.to]) continue;
      best[link.to] = next;
      over[link.to] = link.kind;
      open.emplace(next, link.to);
    }
  }
  return 0;
}

}  // namespace

std::string_view name_of(PathKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {"X",   "NV",   "XG",  "C2C", "PIX", "PXB",
                                                       "PHB", "NODE", "SYS", "NET", "?"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string label_of(const Path& path) {
  if (path.kind == PathKind::nvlink || path.kind == PathKind::xgmi) {
    return fmt::format("{}{}", name_of(path.kind), path.links);
  }
  return std::string(name_of(path.kind));
}

Path shortest_path(const Topology& topology, NodeId from, NodeId to) {
  return nearest_path(topology, from, to, [](NodeId, const Link&) { return true; });
}

Path host_path(const Topology& topology, NodeId from, NodeId to) {
  return nearest_path(topology, from, to, [&](NodeId at, const Link& link) {
    return reach_of(topology, at, link) != kLinks;
  });
}

Path widest_path(const Topology& topology, NodeId from, NodeId to) {
  if (from == to) return itself(from);
  const double width = best_bottleneck(topology, from, to);
  return nearest_path(topology, from, to, [&](NodeId at, const Link& link) {
    return capacity_of(topology, at, link).value_or(0) >= width;
  });
}

std::vector<NicDistance> nearest_nics(const Topology& topology, NodeId device) {
  const std::uint32_t host = topology.node(device).host;
  std::vector<NicDistance> nics;
  for (const NodeId nic : topology.of(host, NodeKind::nic)) {
    nics.push_back({nic, shortest_path(topology, device, nic)});
  }
  std::stable_sort(nics.begin(), nics.end(), [](const NicDistance& a, const NicDistance& b) {
    return a.path.kind < b.path.kind;
  });
  const auto devices = topology.devices(host);
  const auto position = std::find(devices.begin(), devices.end(), device) - devices.begin();
  for (auto first = nics.begin(); first != nics.end();) {
    const auto last = std::find_if(first, nics.end(), [&](const NicDistance& other) {
      return other.path.kind != first->path.kind;
    });
    std::rotate(first, first + position % (last - first), last);
    first = last;
  }
  return nics;
}

}  // namespace gyre::topo
