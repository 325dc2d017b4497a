#include "topology/transports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace gyre::topo {
namespace {

std::string_view vendor_of(const Node& node) {
  const GpuFacts& gpu = *node.gpu();
  if (node.pci.vendor == "0x1002" || !gpu.gcn.empty()) return "AMD";
  if (node.pci.vendor == "0x10de" || gpu.compute > 0) return "NVIDIA";
  return "unknown";
}

TransportVerdict p2p_verdict(const Topology& topology, NodeId a, NodeId b,
                             const TransportRules& rules) {
  const Node& from = topology.node(a);
  const Node& to = topology.node(b);
  const auto no = [](std::string why) { return TransportVerdict{"p2p", false, std::move(why)}; };
  if (!rules.p2p) return no("switched off by NCCL_P2P_DISABLE");
  if (from.host != to.host) return no("they are on different hosts");
  if (from.gpu() == nullptr || to.gpu() == nullptr) return no("one of them is no GPU");
  if (vendor_of(from) != vendor_of(to)) {
    return no(fmt::format("{} and {} GPUs cannot map each other's memory", vendor_of(from),
                          vendor_of(to)));
  }
  const Path path = shortest_path(topology, a, b);
  if (path.kind == PathKind::unknown) {
    return no("nothing says how they are joined; the driver must be asked");
  }
  if (path.kind > rules.p2p_reach) {
    return no(fmt::format("they are {} apart, beyond NCCL_P2P_LEVEL={}", label_of(path),
                          name_of(rules.p2p_reach)));
  }
  return {"p2p", true, fmt::format("over {}", label_of(path))};
}

TransportVerdict shm_verdict(const Topology& topology, NodeId a, NodeId b,
                             const TransportRules& rules) {
  if (!rules.shm) return {"shm", false, "switched off by NCCL_SHM_DISABLE"};
  if (topology.node(a).host != topology.node(b).host) {
    return {"shm", false, "they are on different hosts"};
  }
  return {"shm", true, "they share the host's memory"};
}

// The nearest interface of a device that a transport can use.
std::optional<NicDistance> nearest(const Topology& topology, NodeId device, bool verbs) {
  for (NicDistance& near : nearest_nics(topology, device)) {
    if (!verbs || topology.node(near.nic).nic()->verbs) return std::move(near);
  }
  return std::nullopt;
}

bool reads_memory(const Topology& topology, NodeId device, const NicDistance& near,
                  const TransportRules& rules) {
  const GpuFacts* gpu = topology.node(device).gpu();
  return gpu != nullptr && gpu->direct_rdma && topology.node(near.nic).nic()->direct_rdma &&
         near.path.kind <= rules.rdma_reach;
}

std::string end_text(const Topology& topology, NodeId device, const NicDistance& near,
                     const TransportRules& rules, bool verbs) {
  const bool direct = verbs && reads_memory(topology, device, near, rules);
  return fmt::format("{} ({}{})", topology.node(near.nic).name, label_of(near.path),
                     direct ? ", direct" : "");
}

TransportVerdict net_verdict(const Topology& topology, NodeId a, NodeId b,
                             const TransportRules& rules, bool verbs) {
  const std::string_view name = verbs ? "verbs" : "socket";
  if (verbs && !rules.verbs) return {name, false, "switched off by NCCL_IB_DISABLE"};
  const auto from = nearest(topology, a, verbs);
  const auto to = nearest(topology, b, verbs);
  const bool same_host = topology.node(a).host == topology.node(b).host;
  if (!from || !to) {
    if (!verbs && same_host) return {name, true, "over loopback"};
    return {name, false,
            fmt::format("{} has no {}", topology.hosts()[topology.node(!from ? a : b).host],
                        verbs ? "verbs device" : "network interface")};
  }
  return {name, true,
          fmt::format("over {} and {}", end_text(topology, a, *from, rules, verbs),
                      end_text(topology, b, *to, rules, verbs))};
}

}  // namespace

std::vector<TransportVerdict> transports_between(const Topology& topology, NodeId a, NodeId b,
                                                 const TransportRules& rules) {
  return {p2p_verdict(topology, a, b, rules), shm_verdict(topology, a, b, rules),
          net_verdict(topology, a, b, rules, true), net_verdict(topology, a, b, rules, false)};
}

}  // namespace gyre::topo
