#include "topology/topology.hpp"

namespace gyre::topo {

std::string_view name_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::cpu:
      return "cpu";
    case NodeKind::bridge:
      return "bridge";
    case NodeKind::gpu:
      return "gpu";
    case NodeKind::nvswitch:
      return "nvswitch";
    case NodeKind::nic:
      return "nic";
    case NodeKind::net_switch:
      return "switch";
  }
  return "unknown";
}

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "NVLink";
    case LinkKind::xgmi:
      return "xGMI";
    case LinkKind::c2c:
      return "C2C";
    case LinkKind::pcie:
      return "PCIe";
    case LinkKind::sys:
      return "SYS";
    case LinkKind::net:
      return "NET";
  }
  return "unknown";
}

std::span<const NodeId> Topology::of(std::uint32_t host, NodeKind kind) const {
  const std::size_t at = host * kHostKinds + static_cast<std::size_t>(kind);
  if (kind == NodeKind::net_switch || at + 1 >= first_of_kind_.size()) return {};
  return {by_kind_.data() + first_of_kind_[at], by_kind_.data() + first_of_kind_[at + 1]};
}

std::span<const NodeId> Topology::devices(std::uint32_t host) const {
  const auto gpus = of(host, NodeKind::gpu);
  return gpus.empty() ? of(host, NodeKind::cpu) : gpus;
}

std::vector<NodeId> Topology::devices() const {
  std::vector<NodeId> all;
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    const auto here = devices(host);
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

}  // namespace gyre::topo
