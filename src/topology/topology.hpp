// What the machines are made of, as an immutable value: hosts, their NUMA nodes, PCI bridges, GPUs,
// NVSwitches and network interfaces, the switches between hosts, and the links that join them. How
// it was found out (discover, nccl_xml, hwloc_import, synthetic) and what is computed from it
// (paths, rings, trees) is elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gyre::topo {

using NodeId = std::uint32_t;
constexpr NodeId kNoNode = ~NodeId{0};

// What nobody has told us has no value; no figure is ever made up.
using Figure = std::optional<double>;

enum class NodeKind : std::uint8_t { cpu, bridge, gpu, nvswitch, nic, net_switch };
enum class LinkKind : std::uint8_t { nvlink, xgmi, c2c, pcie, sys, net };

std::string_view name_of(NodeKind kind);
std::string_view name_of(LinkKind kind);

// A place on the PCI bus; empty texts and 0 where nothing is known.
struct PciFacts {
  std::string bus;                                                 // "0000:c1:00.0"
  std::string device_class;                                        // "0x030200"
  std::string vendor, device, subsystem_vendor, subsystem_device;  // "0x10de"
  double speed = 0;                                                // GT/s of a lane
  int width = 0;                                                   // lanes
  Figure bandwidth;  // GB/s each way, where it is known other than by speed and width
};

// One NUMA node with its cores. Caches and cores are counts for display.
struct CpuFacts {
  int numa = -1;     // as the system numbers it; -1: it does not say
  int package = -1;  // the socket
  int cores = 0;
  std::int64_t cache_bytes = 0;  // all its last-level caches
  std::string affinity, arch, vendor;
  int family = -1, model = -1;
};

struct GpuFacts {
  std::string model;     // "NVIDIA H100 80GB HBM3"
  int compute = 0;       // NVIDIA: 10 x major + minor. AMD: the count of compute units
  std::string gcn;       // AMD: "gfx942"; empty for others
  std::string gcn_arch;  // what RCCL's files keep beside it
  int rank = -1;
  bool direct_rdma = false;  // network interfaces may read its memory
};

struct NicFacts {
  Figure bandwidth;  // GB/s each way
  Figure latency;    // microseconds
  int port = 0;
  std::string guid;
  std::string interface;  // the Ethernet or IPoIB interface of a verbs device
  int connections = 0;    // at most; 0: not known
  bool up = true;         // the system does not say that it is down
  bool verbs = false;
  bool direct_rdma = false;
  bool collective = false;  // the network reduces
  int rail = -1;
};

struct Node {
  NodeKind kind = NodeKind::cpu;
  std::uint32_t host = 0;
  int index = -1;           // among its kind on its host, as the system numbers it
  NodeId parent = kNoNode;  // the bridge or NUMA node above it; none: not known
  int root = -1;            // which PCI host bridge of its NUMA node; -1: not known
  std::string name;         // "GPU0", "mlx5_0"
  PciFacts pci;
  std::variant<std::monostate, CpuFacts, GpuFacts, NicFacts> facts;

  const CpuFacts* cpu() const { return std::get_if<CpuFacts>(&facts); }
  const GpuFacts* gpu() const { return std::get_if<GpuFacts>(&facts); }
  const NicFacts* nic() const { return std::get_if<NicFacts>(&facts); }
};

// One direction; the other one is a link of the other end.
struct Link {
  NodeId to = kNoNode;
  LinkKind kind = LinkKind::pcie;
  int count = 1;     // wires bonded into it
  Figure bandwidth;  // GB/s each way, all of them together
  Figure latency;    // microseconds
};

class Topology {
 public:
  Topology() = default;

  std::span<const std::string> hosts() const { return hosts_; }
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::span<const Link> links(NodeId from) const {
    return {links_.data() + first_link_[from], links_.data() + first_link_[from + 1]};
  }
  // The nodes of a kind on a host, by index.
  std::span<const NodeId> of(std::uint32_t host, NodeKind kind) const;
  // Where ranks live: its GPUs or, if it has none, its NUMA nodes.
  std::span<const NodeId> devices(std::uint32_t host) const;
  // Those of all hosts, in order.
  std::vector<NodeId> devices() const;
  std::span<const NodeId> net_switches() const { return net_switches_; }
  // What was found and could not be understood, for people.
  std::span<const std::string> remarks() const { return remarks_; }

 private:
  friend class TopologyBuilder;
  static constexpr std::size_t kHostKinds = 5;  // all but net_switch

  std::vector<std::string> hosts_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;              // by the node that they leave
  std::vector<std::size_t> first_link_;  // of each node, and the end
  std::vector<NodeId> by_kind_;          // by host, kind, index
  std::vector<std::size_t> first_of_kind_{0};
  std::vector<NodeId> net_switches_;
  std::vector<std::string> remarks_;
};

}  // namespace gyre::topo
