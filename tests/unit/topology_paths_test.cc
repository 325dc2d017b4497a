// Paths, their names and figures, and the transports that they allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/topology_machines.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/paths.hpp"
#include "topology/synthetic.hpp"
#include "topology/transports.hpp"

namespace gyre::topo {
namespace {

Topology synthetic(std::string_view name) {
  auto topology = synthetic_topology(name);
  EXPECT_TRUE(topology) << topology.error().text;
  return topology ? *std::move(topology) : Topology();
}

TEST(Paths, AreNamedAsNvidiaSmiNamesThem) {
  const Topology machine = synthetic("pcie");
  const auto gpus = machine.of(0, NodeKind::gpu);
  const auto nics = machine.of(0, NodeKind::nic);
  EXPECT_EQ(label_of(shortest_path(machine, gpus[0], gpus[0])), "X");
  EXPECT_EQ(label_of(shortest_path(machine, gpus[0], gpus[1])), "PIX");
  EXPECT_EQ(label_of(shortest_path(machine, gpus[0], gpus[2])), "PHB");
  EXPECT_EQ(label_of(shortest_path(machine, gpus[0], gpus[4])), "SYS");
  EXPECT_EQ(label_of(shortest_path(machine, gpus[0], nics[0])), "PIX");
  EXPECT_EQ(label_of(shortest_path(machine, gpus[7], nics[0])), "SYS");
}

TEST(Paths, FiguresAreThoseOfTheNarrowestPlace) {
  const Topology machine = synthetic("dgx-a100");
  const auto gpus = machine.of(0, NodeKind::gpu);
  const Path links = shortest_path(machine, gpus[0], gpus[7]);
  EXPECT_EQ(label_of(links), "NV12");
  EXPECT_EQ(links.bandwidth, 300.0);
  EXPECT_DOUBLE_EQ(links.latency.value_or(0), 1.2);
  EXPECT_EQ(links.nodes.size(), 3U);
  const Path sockets = host_path(machine, gpus[0], gpus[7]);
  EXPECT_EQ(sockets.kind, PathKind::sys);
  EXPECT_EQ(sockets.bandwidth, 16.0);
  EXPECT_DOUBLE_EQ(sockets.latency.value_or(0), 5.0);
}

TEST(Paths, WidestGoesWhereItIsWide) {
  const Topology machine = synthetic("dgx-h100");
  const auto gpus = machine.of(0, NodeKind::gpu);
  EXPECT_EQ(widest_path(machine, gpus[0], gpus[7]).bandwidth, 450.0);
  // Two GPUs with a thin link on one socket: the bus is wider.
  TopologyBuilder builder;
  const auto host = builder.add_host("h");
  Node cpu;
  cpu.facts = CpuFacts{};
  const NodeId socket = builder.add(cpu);
  std::vector<NodeId> ids;
  for (int i = 0; i < 2; ++i) {
    Node gpu;
    gpu.kind = NodeKind::gpu;
    gpu.host = host;
    gpu.parent = socket;
    gpu.pci.bandwidth = 30;
    gpu.facts = GpuFacts{};
    ids.push_back(builder.add(gpu));
  }
  builder.connect(ids[0], ids[1], {kNoNode, LinkKind::nvlink, 1, 20.0, 0.5});
  const Topology thin = std::move(builder).build();
  EXPECT_EQ(label_of(shortest_path(thin, ids[0], ids[1])), "NV1");
  const Path wide = widest_path(thin, ids[0], ids[1]);
  EXPECT_EQ(label_of(wide), "PHB");
  EXPECT_EQ(wide.bandwidth, 30.0);
  EXPECT_FALSE(wide.latency) << "no place on the bus is known";
}

TEST(Paths, NothingKnownIsUnknownAndHasNoFigure) {
  TopologyBuilder builder;
  builder.add_host("vm");
  Node cpu;
  cpu.facts = CpuFacts{};
  builder.add(cpu);
  Node gpu;
  gpu.kind = NodeKind::gpu;
  gpu.facts = GpuFacts{};
  const NodeId a = builder.add(gpu), b = builder.add(gpu);
  const Topology machine = std::move(builder).build();
  const Path path = shortest_path(machine, a, b);
  EXPECT_EQ(label_of(path), "?");
  EXPECT_FALSE(path.bandwidth);
  EXPECT_FALSE(path.latency);
  EXPECT_TRUE(path.nodes.empty());
  EXPECT_EQ(label_of(widest_path(machine, a, b)), "?");
}

TEST(Paths, BetweenHostsGoOverTheNearestInterface) {
  const Topology cluster = synthetic("3xdgx-h100:rail");
  const auto first = cluster.of(0, NodeKind::gpu);
  const auto last = cluster.of(2, NodeKind::gpu);
  const Path path = shortest_path(cluster, first[3], last[3]);
  EXPECT_EQ(path.kind, PathKind::net);
  EXPECT_EQ(path.bandwidth, 50.0);
  const auto nics = nearest_nics(cluster, first[3]);
  ASSERT_EQ(nics.size(), 8U);
  EXPECT_EQ(cluster.node(nics[0].nic).name, "mlx5_3");
  EXPECT_EQ(nics[0].path.kind, PathKind::pix);
}

const TransportVerdict& verdict(const std::vector<TransportVerdict>& all, std::string_view name) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
}

TEST(Transports, EachIsUsableOrSaysWhyNot) {
  const Topology cluster = synthetic("dgx-h100+mi300x+cpu");
  const auto nvidia = cluster.devices(0);
  const auto amd = cluster.devices(1);
  const auto cpu = cluster.devices(2);
  auto all = transports_between(cluster, nvidia[0], nvidia[1]);
  EXPECT_TRUE(verdict(all, "p2p").usable);
  EXPECT_EQ(verdict(all, "p2p").why, "over NV18");
  EXPECT_TRUE(verdict(all, "shm").usable);
  all = transports_between(cluster, nvidia[0], amd[0]);
  EXPECT_FALSE(verdict(all, "p2p").usable);
  EXPECT_FALSE(verdict(all, "shm").usable);
  EXPECT_TRUE(verdict(all, "verbs").usable);
  EXPECT_EQ(verdict(all, "verbs").why, "over mlx5_0 (PIX, direct) and mlx5_0 (PIX, direct)");
  all = transports_between(cluster, nvidia[0], cpu[0]);
  EXPECT_NE(verdict(all, "p2p").why.find("different hosts"), std::string::npos);
  all = transports_between(cluster, nvidia[0], nvidia[1], {.p2p = false, .shm = false});
  EXPECT_NE(verdict(all, "p2p").why.find("NCCL_P2P_DISABLE"), std::string::npos);
  EXPECT_NE(verdict(all, "shm").why.find("NCCL_SHM_DISABLE"), std::string::npos);
}

TEST(Transports, MixedVendorsAndHostsWithoutNetwork) {
  TopologyBuilder builder;
  builder.add_host("one");
  builder.add_host("two");
  std::vector<NodeId> ids;
  for (const std::uint32_t host : {0U, 0U, 1U}) {
    Node gpu;
    gpu.kind = NodeKind::gpu;
    gpu.host = host;
    gpu.pci.vendor = ids.size() == 1 ? "0x1002" : "0x10de";
    gpu.facts = GpuFacts{};
    ids.push_back(builder.add(gpu));
  }
  const Topology topology = std::move(builder).build();
  auto all = transports_between(topology, ids[0], ids[1]);
  EXPECT_NE(verdict(all, "p2p").why.find("NVIDIA and AMD"), std::string::npos);
  EXPECT_EQ(verdict(all, "socket").why, "over loopback");
  all = transports_between(topology, ids[0], ids[2]);
  EXPECT_FALSE(verdict(all, "socket").usable);
  EXPECT_EQ(verdict(all, "socket").why, "one has no network interface");
}

}  // namespace
}  // namespace gyre::topo
