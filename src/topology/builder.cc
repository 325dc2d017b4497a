#include "topology/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "topology/link_facts.hpp"

namespace gyre::topo {

std::uint32_t TopologyBuilder::add_host(std::string name) {
  hosts_.push_back(std::move(name));
  return static_cast<std::uint32_t>(hosts_.size() - 1);
}

NodeId TopologyBuilder::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

void TopologyBuilder::connect(NodeId a, NodeId b, Link link) {
  link.to = b;
  edges_.push_back({a, link});
  link.to = a;
  edges_.push_back({b, link});
}

NodeId TopologyBuilder::find_device(std::uint32_t host, std::string_view bus) const {
  if (bus.empty()) return kNoNode;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    if (node.host == host && node.kind != NodeKind::bridge && node.pci.bus == bus) return id;
  }
  return kNoNode;
}

NodeId TopologyBuilder::find_cpu(std::uint32_t host, int numa) const {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const CpuFacts* cpu = nodes_[id].cpu();
    if (nodes_[id].host == host && cpu != nullptr && cpu->numa == numa) return id;
  }
  return kNoNode;
}

std::vector<NodeId> TopologyBuilder::of(std::uint32_t host, NodeKind kind) const {
  std::vector<NodeId> found;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].host == host && nodes_[id].kind == kind) found.push_back(id);
  }
  return found;
}

void TopologyBuilder::number_nodes() {
  std::vector<NodeId> nameless;
  std::set<std::tuple<std::uint32_t, NodeKind, int>> taken;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].index < 0) {
      nameless.push_back(id);
    } else {
      taken.emplace(nodes_[id].host, nodes_[id].kind, nodes_[id].index);
    }
  }
  std::stable_sort(nameless.begin(), nameless.end(), [&](NodeId a, NodeId b) {
    return std::tie(nodes_[a].host, nodes_[a].kind, nodes_[a].pci.bus) <
           std::tie(nodes_[b].host, nodes_[b].kind, nodes_[b].pci.bus);
  });
  int index = 0;
  for (std::size_t i = 0; i < nameless.size(); ++i) {
    Node& node = nodes_[nameless[i]];
    const Node& before = nodes_[nameless[i == 0 ? 0 : i - 1]];
    if (before.host != node.host || before.kind != node.kind) index = 0;
    while (!taken.emplace(node.host, node.kind, index).second) ++index;
    node.index = index;
  }
}

void TopologyBuilder::name_nodes() {
  for (Node& node : nodes_) {
    if (!node.name.empty()) continue;
    switch (node.kind) {
      case NodeKind::cpu:
        node.name = fmt::format("NUMA{}", node.index);
        break;
      case NodeKind::gpu:
        node.name = fmt::format("GPU{}", node.index);
        break;
      case NodeKind::nvswitch:
        node.name = fmt::format("NVSwitch{}", node.index);
        break;
      case NodeKind::bridge:
        node.name = node.pci.bus;
        break;
      case NodeKind::nic:
        node.name = fmt::format("NIC{}", node.index);
        break;
      case NodeKind::net_switch:
        node.name = fmt::format("switch{}", node.index);
        break;
    }
  }
}

void TopologyBuilder::connect_parents() {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    if (node.parent == kNoNode) continue;
    Link link{kNoNode, LinkKind::pcie, 1, pcie_bandwidth(node.pci),
              nominal_latency(LinkKind::pcie)};
    // Without a PCI place there is no saying what is between them.
    if (node.pci.bus.empty()) link.latency.reset();
    connect(id, node.parent, link);
  }
}

void TopologyBuilder::connect_sockets() {
  // Hosts' nodes may be interleaved; their NUMA nodes are few.
  std::vector<std::vector<NodeId>> cpus(hosts_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].kind == NodeKind::cpu) cpus[nodes_[id].host].push_back(id);
  }
  for (const auto& here : cpus) {
    for (std::size_t i = 0; i < here.size(); ++i) {
      for (std::size_t j = i + 1; j < here.size(); ++j) {
        connect(here[i], here[j],
                {kNoNode, LinkKind::sys, 1, socket_bandwidth(*nodes_[here[i]].cpu()),
                 nominal_latency(LinkKind::sys)});
      }
    }
  }
}

// Drivers show the links that end at a GPU, not those from switch to switch. As the vendor's own
// tools do, take the switches of a host for one fabric.
void TopologyBuilder::connect_switches() {
  std::vector<NodeId> group(nodes_.size());
  std::iota(group.begin(), group.end(), NodeId{0});
  const auto leader = [&](NodeId id) {
    while (group[id] != id) id = group[id] = group[group[id]];
    return id;
  };
  const auto is_switch = [&](NodeId id) { return nodes_[id].kind == NodeKind::nvswitch; };
  for (const Edge& edge : edges_) {
    if (edge.link.kind != LinkKind::nvlink || (!is_switch(edge.from) && !is_switch(edge.link.to))) {
      continue;
    }
    const auto [first, second] = std::minmax({leader(edge.from), leader(edge.link.to)});
    group[second] = first;
  }
  std::vector<NodeId> first_of_host(hosts_.size(), kNoNode);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (!is_switch(id)) continue;
    NodeId& first = first_of_host[nodes_[id].host];
    if (first == kNoNode) {
      first = id;
    } else if (leader(first) != leader(id)) {
      connect(first, id, {kNoNode, LinkKind::nvlink, 1, {}, nominal_latency(LinkKind::nvlink)});
      const auto [low, high] = std::minmax({leader(first), leader(id)});
      group[high] = low;
    }
  }
}

Topology TopologyBuilder::build() && {
  number_nodes();
  name_nodes();
  connect_parents();
  connect_sockets();
  connect_switches();

  Topology made;
  made.first_link_.assign(nodes_.size() + 1, 0);
  for (const Edge& edge : edges_) ++made.first_link_[edge.from + 1];
  std::partial_sum(made.first_link_.begin(), made.first_link_.end(), made.first_link_.begin());
  made.links_.resize(edges_.size());
  std::vector<std::size_t> next(made.first_link_.begin(), made.first_link_.end() - 1);
  for (const Edge& edge : edges_) made.links_[next[edge.from]++] = edge.link;

  std::vector<NodeId> order(nodes_.size());
  std::iota(order.begin(), order.end(), NodeId{0});
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return std::tie(nodes_[a].host, nodes_[a].kind, nodes_[a].index) <
           std::tie(nodes_[b].host, nodes_[b].kind, nodes_[b].index);
  });
  made.first_of_kind_.assign(hosts_.size() * Topology::kHostKinds + 1, 0);
  for (const NodeId id : order) {
    if (nodes_[id].kind == NodeKind::net_switch) {
      made.net_switches_.push_back(id);
      continue;
    }
    made.by_kind_.push_back(id);
    const auto kind = static_cast<std::size_t>(nodes_[id].kind);
    ++made.first_of_kind_[nodes_[id].host * Topology::kHostKinds + kind + 1];
  }
  std::partial_sum(made.first_of_kind_.begin(), made.first_of_kind_.end(),
                   made.first_of_kind_.begin());
  made.hosts_ = std::move(hosts_);
  made.nodes_ = std::move(nodes_);
  made.remarks_ = std::move(remarks_);
  return made;
}

}  // namespace gyre::topo
