#include "topology/synthetic_host.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "topology/link_facts.hpp"
#include "topology/pci_address.hpp"

namespace gyre::topo {
namespace {

constexpr double kGen3 = 8, kGen4 = 16, kGen5 = 32;  // GT/s
constexpr int kLanes = 16;
// Places on the bus, apart from each other.
constexpr std::uint32_t kBridges = 0x10, kGpus = 0x40, kNics = 0x80, kSwitches = 0xc0;

struct Processor {
  std::string_view arch, vendor;
  int family, model, cores;
};
constexpr Processor kSkylake{"x86_64", "GenuineIntel", 6, 0x55, 24};
constexpr Processor kSapphireRapids{"x86_64", "GenuineIntel", 6, 0x8F, 56};
constexpr Processor kRome{"x86_64", "AuthenticAMD", 23, 49, 64};

PciFacts place(std::uint32_t bus, double speed, std::string_view device_class,
               std::string_view vendor) {
  PciFacts pci;
  pci.bus = pci_address(0, bus, 0, 0);
  pci.device_class = device_class;
  pci.vendor = vendor;
  pci.speed = speed;
  pci.width = kLanes;
  return pci;
}

// Adds parts of one host and remembers them by position.
class Host {
 public:
  Host(TopologyBuilder& builder, std::uint32_t host) : builder_(builder), host_(host) {}

  Host& sockets(const Processor& processor) {
    constexpr int kSockets = 2;
    for (int socket = 0; socket < kSockets; ++socket) {
      CpuFacts cpu;
      cpu.numa = socket;
      cpu.package = socket;
      cpu.cores = processor.cores;
      cpu.arch = processor.arch;
      cpu.vendor = processor.vendor;
      cpu.family = processor.family;
      cpu.model = processor.model;
      Node node = fresh(NodeKind::cpu, socket, kNoNode);
      node.facts = std::move(cpu);
      cpus_.push_back(builder_.add(std::move(node)));
    }
    return *this;
  }

  // PCI switches, the first half on the first socket.
  Host& bridges(int count, double speed) {
    for (int i = 0; i < count; ++i) {
      Node node = fresh(NodeKind::bridge, i, cpus_[half_of(i, count)]);
      node.pci = place(kBridges + static_cast<std::uint32_t>(i), speed, "0x060400", "0x1000");
      bridges_.push_back(builder_.add(std::move(node)));
    }
    return *this;
  }

  Host& gpus(int count, double speed, const GpuFacts& facts) {
    const bool amd = !facts.gcn.empty();
    for (int i = 0; i < count; ++i) {
      Node node = fresh(NodeKind::gpu, i, bridge_of(i, count));
      node.pci = place(kGpus + static_cast<std::uint32_t>(i), speed, amd ? "0x120000" : "0x030200",
                       amd ? "0x1002" : "0x10de");
      GpuFacts gpu = facts;
      gpu.rank = i;
      gpu.direct_rdma = true;
      node.facts = std::move(gpu);
      gpus_.push_back(builder_.add(std::move(node)));
    }
    return *this;
  }

  Host& nics(int count, double speed, double gigabits) {
    for (int i = 0; i < count; ++i) {
      Node node = fresh(NodeKind::nic, i, bridge_of(i, count));
      node.name = fmt::format("mlx5_{}", i);
      node.pci = place(kNics + static_cast<std::uint32_t>(i), speed, "0x020700", "0x15b3");
      NicFacts nic;
      nic.bandwidth = gigabits / 8;
      nic.port = 1;
      nic.verbs = true;
      nic.direct_rdma = true;
      nic.rail = i;
      node.facts = std::move(nic);
      builder_.add(std::move(node));
    }
    return *this;
  }

  // links[i] of every GPU to switch i.
  Host& nvswitches(std::initializer_list<int> links, int compute) {
    std::uint32_t index = 0;
    for (const int count : links) {
      Node node = fresh(NodeKind::nvswitch, static_cast<int>(index), kNoNode);
      node.pci = place(kSwitches + index++, kGen3, "0x068000", "0x10de");
      node.pci.width = 0;
      const NodeId id = builder_.add(std::move(node));
      for (const NodeId gpu : gpus_)
        connect(gpu, id, LinkKind::nvlink, count, nvlink_bandwidth(compute));
    }
    return *this;
  }

  void link(int a, int b, LinkKind kind, int count, Figure one) {
    connect(gpus_[static_cast<std::size_t>(a)], gpus_[static_cast<std::size_t>(b)], kind, count,
            one);
  }

 private:
  Node fresh(NodeKind kind, int index, NodeId parent) const {
    Node node;
    node.kind = kind;
    node.host = host_;
    node.index = index;
    node.parent = parent;
    return node;
  }
  void connect(NodeId a, NodeId b, LinkKind kind, int count, Figure one) {
    builder_.connect(
        a, b, {kNoNode, kind, count, one ? Figure(*one * count) : one, nominal_latency(kind)});
  }
  static std::size_t half_of(int i, int count) { return 2 * i < count ? 0 : 1; }
  NodeId bridge_of(int i, int count) const {
    if (bridges_.empty()) return cpus_[half_of(i, count)];
    const auto place = static_cast<std::size_t>(i) * bridges_.size();
    return bridges_[place / static_cast<std::size_t>(count)];
  }

  TopologyBuilder& builder_;
  std::uint32_t host_;
  std::vector<NodeId> cpus_, bridges_, gpus_;
};

GpuFacts nvidia(std::string_view model, int compute) {
  GpuFacts gpu;
  gpu.model = model;
  gpu.compute = compute;
  return gpu;
}

void add_dgx_1v(TopologyBuilder& builder, std::uint32_t number) {
  Host host(builder, number);
  host.sockets(kSkylake).bridges(4, kGen3).gpus(8, kGen3, nvidia("Tesla V100-SXM2-32GB", 70));
  host.nics(4, kGen3, 100);
  // The hybrid cube mesh: six links each, to four others.
  constexpr std::array<std::array<int, 3>, 16> kMesh = {{{0, 1, 1},
                                                         {0, 2, 1},
                                                         {0, 3, 2},
                                                         {0, 4, 2},
                                                         {1, 2, 2},
                                                         {1, 3, 1},
                                                         {1, 5, 2},
                                                         {2, 3, 2},
                                                         {2, 6, 1},
                                                         {3, 7, 1},
                                                         {4, 5, 1},
                                                         {4, 6, 1},
                                                         {4, 7, 2},
                                                         {5, 6, 2},
                                                         {5, 7, 1},
                                                         {6, 7, 2}}};
  for (const auto& [a, b, count] : kMesh) {
    host.link(a, b, LinkKind::nvlink, count, nvlink_bandwidth(70));
  }
}

void add_dgx_a100(TopologyBuilder& builder, std::uint32_t number) {
  Host host(builder, number);
  host.sockets(kRome).bridges(4, kGen4).gpus(8, kGen4, nvidia("NVIDIA A100-SXM4-80GB", 80));
  host.nics(8, kGen4, 200).nvswitches({2, 2, 2, 2, 2, 2}, 80);
}

void add_dgx_h100(TopologyBuilder& builder, std::uint32_t number) {
  Host host(builder, number);
  host.sockets(kSapphireRapids)
      .bridges(8, kGen5)
      .gpus(8, kGen5, nvidia("NVIDIA H100 80GB HBM3", 90));
  host.nics(8, kGen5, 400).nvswitches({5, 4, 4, 5}, 90);
}

void add_mi300x(TopologyBuilder& builder, std::uint32_t number) {
  Host host(builder, number);
  GpuFacts gpu;
  gpu.model = "AMD Instinct MI300X";
  gpu.compute = 304;
  gpu.gcn = "gfx942";
  constexpr int kCount = 8;
  host.sockets(kSapphireRapids).bridges(kCount, kGen5).gpus(kCount, kGen5, gpu);
  host.nics(kCount, kGen5, 400);
  for (int a = 0; a < kCount; ++a) {
    for (int b = a + 1; b < kCount; ++b)
      host.link(a, b, LinkKind::xgmi, 1, xgmi_bandwidth("gfx942"));
  }
}

void add_pcie(TopologyBuilder& builder, std::uint32_t number) {
  Host host(builder, number);
  host.sockets(kSapphireRapids).bridges(4, kGen4).gpus(8, kGen4, nvidia("NVIDIA L40S", 89));
  host.nics(2, kGen4, 200);
}

void add_cpu(TopologyBuilder& builder, std::uint32_t number) {
  Host host(builder, number);
  host.sockets(kRome).nics(2, kGen4, 100);
}

}  // namespace

std::vector<HostModel> host_models() {
  return {{"dgx-1v", "8 V100, a hybrid cube mesh of NVLinks, 4 interfaces", add_dgx_1v},
          {"dgx-a100", "8 A100 on 6 NVSwitches, 8 interfaces of 200 Gb/s", add_dgx_a100},
          {"dgx-h100", "8 H100 on 4 NVSwitches, 8 interfaces of 400 Gb/s", add_dgx_h100},
          {"mi300x", "8 MI300X, each joined to each by xGMI, 8 interfaces of 400 Gb/s", add_mi300x},
          {"pcie", "8 GPUs on 4 PCI switches and 2 sockets, 2 interfaces", add_pcie},
          {"cpu", "2 sockets without GPUs, 2 interfaces", add_cpu}};
}

}  // namespace gyre::topo
