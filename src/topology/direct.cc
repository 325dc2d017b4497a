#include "topology/direct.hpp"

namespace gyre::topo {
namespace {

bool is_switch_link(const Topology& topology, const Link& link) {
  return link.kind == LinkKind::nvlink && topology.node(link.to).kind == NodeKind::nvswitch;
}

Figure sum(Figure a, Figure b) { return a && b ? Figure(*a + *b) : Figure(); }

}  // namespace

std::optional<DirectLink> switch_ports(const Topology& topology, NodeId gpu) {
  std::optional<DirectLink> ports;
  for (const Link& link : topology.links(gpu)) {
    if (!is_switch_link(topology, link)) continue;
    if (!ports) {
      ports = DirectLink{LinkKind::nvlink, link.count, link.bandwidth, true};
    } else {
      ports->count += link.count;
      ports->bandwidth = sum(ports->bandwidth, link.bandwidth);
    }
  }
  return ports;
}

std::optional<DirectLink> direct_link(const Topology& topology, NodeId a, NodeId b) {
  for (const Link& link : topology.links(a)) {
    const bool straight = link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
    if (link.to == b && straight) return DirectLink{link.kind, link.count, link.bandwidth, false};
  }
  const auto from = switch_ports(topology, a);
  const auto to = switch_ports(topology, b);
  // The switches of a host are one fabric.
  if (!from || !to || topology.node(a).host != topology.node(b).host) return std::nullopt;
  return from->count <= to->count ? from : to;
}

}  // namespace gyre::topo
