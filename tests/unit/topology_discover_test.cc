// Discovery from made-up copies of /sys, and from this machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/settings.hpp"
#include "topology/discover.hpp"
#include "topology/discover_kfd.hpp"
#include "topology/discover_net.hpp"
#include "topology/discover_pci.hpp"
#include "topology/nvidia.hpp"
#include "topology/paths.hpp"
#include "topology/synthetic.hpp"

namespace gyre::topo {
namespace {

namespace fs = std::filesystem;

class Sysfs : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "gyre-sys-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    sys_ = pattern;
  }
  void TearDown() override { fs::remove_all(sys_); }

  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((sys_ / name).parent_path());
    std::ofstream(sys_ / name) << text << '\n';
  }
  // A device on the bus and the link to it.
  void link_device(const fs::path& name, const std::string& place) const {
    const fs::path device = sys_ / "devices/pci0000:00" / place;
    fs::create_directories(device);
    fs::create_directories((sys_ / name).parent_path());
    fs::create_directory_symlink(device, sys_ / name);
  }
  NodeId add_cpu(int numa) {
    Node node;
    node.host = host_;
    node.index = numa;
    CpuFacts cpu;
    cpu.numa = numa;
    node.facts = cpu;
    return builder_.add(node);
  }
  NodeId add(NodeKind kind, const std::string& bus, NodeId parent) {
    Node node;
    node.kind = kind;
    node.host = host_;
    node.parent = parent;
    node.pci.bus = bus;
    if (kind == NodeKind::gpu) node.facts = GpuFacts{};
    if (kind == NodeKind::nic) node.facts = NicFacts{};
    return builder_.add(node);
  }
  void write_kfd_gpu(int number, std::uint32_t bus) const {
    const std::string folder = "class/kfd/kfd/topology/nodes/" + std::to_string(number);
    write(folder + "/properties",
          "cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n"
          "vendor_id 4098\nlocation_id " +
              std::to_string(bus << 8) + "\ndomain 0");
  }
  void write_kfd_link(int from, int at, int to, int type, int weight, int least, int most) const {
    write("class/kfd/kfd/topology/nodes/" + std::to_string(from) + "/io_links/" +
              std::to_string(at) + "/properties",
          "type " + std::to_string(type) + "\nnode_from " + std::to_string(from) + "\nnode_to " +
              std::to_string(to) + "\nweight " + std::to_string(weight) + "\nmin_bandwidth " +
              std::to_string(least) + "\nmax_bandwidth " + std::to_string(most));
  }

  fs::path sys_;
  TopologyBuilder builder_;
  std::uint32_t host_ = builder_.add_host("test");
};

TEST_F(Sysfs, KfdNamesGpusAndTheirLinks) {
  const NodeId cpu = add_cpu(0);
  add(NodeKind::gpu, "0000:0c:00.0", cpu);
  write("class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 96\nsimd_count 0");
  write_kfd_gpu(1, 0x0c);
  write_kfd_gpu(2, 0x22);
  write_kfd_gpu(3, 0x33);
  write_kfd_link(1, 0, 0, 2, 20, 0, 0);
  write_kfd_link(1, 1, 2, 11, 15, 50000, 200000);
  write_kfd_link(2, 0, 1, 11, 15, 50000, 200000);
  write_kfd_link(2, 1, 3, 11, 15, 0, 0);
  write_kfd_link(1, 2, 3, 11, 30, 50000, 50000);  // two hops: no wire
  add_kfd(builder_, host_, sys_);
  const Topology topology = std::move(builder_).build();
  const auto gpus = topology.of(0, NodeKind::gpu);
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(topology.node(gpus[0]).pci.bus, "0000:0c:00.0");
  EXPECT_EQ(topology.node(gpus[0]).parent, cpu);
  EXPECT_EQ(topology.node(gpus[1]).parent, kNoNode);
  EXPECT_EQ(topology.node(gpus[0]).gpu()->gcn, "gfx942");
  EXPECT_EQ(topology.node(gpus[0]).gpu()->compute, 304);
  const Path first = shortest_path(topology, gpus[0], gpus[1]);
  EXPECT_EQ(label_of(first), "XG4");
  EXPECT_EQ(first.bandwidth, 200.0);
  const Path second = shortest_path(topology, gpus[1], gpus[2]);
  EXPECT_EQ(label_of(second), "XG1");
  EXPECT_EQ(second.bandwidth, 64.0) << "the published figure of the generation";
  EXPECT_EQ(label_of(shortest_path(topology, gpus[0], gpus[2])), "?");
}

TEST_F(Sysfs, BothVendorsAreNumberedTogether) {
  add_nvidia(builder_, host_, {{"0000:1b:00.0", "NVIDIA L4", 0, 89, {}}});
  write_kfd_gpu(1, 0x0c);
  add_kfd(builder_, host_, sys_);
  const Topology topology = std::move(builder_).build();
  const auto gpus = topology.of(0, NodeKind::gpu);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(topology.node(gpus[0]).name, "GPU0");
  EXPECT_EQ(topology.node(gpus[0]).pci.vendor, "0x10de");
  EXPECT_EQ(topology.node(gpus[1]).name, "GPU1");
}

TEST_F(Sysfs, KfdOfGarbageIsNothing) {
  write("class/kfd/kfd/topology/nodes/x/properties", "simd_count 5");
  write("class/kfd/kfd/topology/nodes/0/properties", "simd_count\n\n\xff nonsense -1 7 simd_count");
  write("class/kfd/kfd/topology/nodes/1/io_links/0/properties", "type 11\nnode_from 1\nnode_to 99");
  add_kfd(builder_, host_, sys_);
  EXPECT_EQ(builder_.size(), 0U);
  add_kfd(builder_, host_, sys_ / "nowhere");
  EXPECT_EQ(builder_.size(), 0U);
}

TEST_F(Sysfs, InterfacesAndVerbsDevicesMeetOnTheBus) {
  const NodeId cpu = add_cpu(1);
  const NodeId known = add(NodeKind::nic, "0000:07:00.0", cpu);
  link_device("class/infiniband/mlx5_0/device", "0000:07:00.0");
  write("class/infiniband/mlx5_0/node_guid", "f01c:bc01:03dd:6838");
  write("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  write("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  write("class/infiniband/mlx5_0/ports/2/rate", "10 Gb/sec (4X SDR)");
  write("class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  link_device("class/net/ib0/device", "0000:07:00.0");
  link_device("class/net/eth0/device", "0000:09:00.0");
  write("class/net/eth0/device/numa_node", "1");
  write("class/net/eth0/speed", "25000");
  write("class/net/eth0/operstate", "up");
  link_device("class/net/eth1/device", "0000:0a:00.0");
  write("class/net/eth1/speed", "-1");
  write("class/net/eth1/device/numa_node", "-1");
  write("class/net/veth0/speed", "10000");
  write("class/net/lo/speed", "0");
  add_interfaces(builder_, host_, sys_);
  const Topology topology = std::move(builder_).build();
  const auto nics = topology.of(0, NodeKind::nic);
  ASSERT_EQ(nics.size(), 4U);
  const Node& verbs = topology.node(known);
  EXPECT_EQ(verbs.name, "mlx5_0");
  EXPECT_EQ(verbs.nic()->interface, "ib0");
  EXPECT_EQ(verbs.nic()->bandwidth, 50.0);
  EXPECT_EQ(verbs.nic()->guid, "0xf01cbc0103dd6838");
  int seen = 0;
  for (const NodeId id : nics) {
    const Node& node = topology.node(id);
    if (node.name == "mlx5_0:2") {
      ++seen;
      EXPECT_FALSE(node.nic()->up);
      EXPECT_FALSE(node.nic()->bandwidth);
    } else if (node.name == "eth0") {
      ++seen;
      EXPECT_EQ(node.parent, cpu);
      EXPECT_EQ(node.nic()->bandwidth, 3.125);
    } else if (node.name == "eth1") {
      ++seen;
      EXPECT_EQ(node.parent, kNoNode);
      EXPECT_FALSE(node.nic()->bandwidth);
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST_F(Sysfs, PciLinksAreAsFastAsBothEndsCanBe) {
  const NodeId cpu = add_cpu(0);
  const NodeId fast = add(NodeKind::gpu, "0000:02:00.0", cpu);
  const NodeId silent = add(NodeKind::gpu, "0000:03:00.0", cpu);
  add(NodeKind::gpu, "0000:04:00.0", cpu);
  const fs::path port = "devices/pci0000:00/0000:00:01.0";
  write(port / "max_link_speed", "16.0 GT/s PCIe");
  write(port / "max_link_width", "16");
  write(port / "0000:02:00.0/max_link_speed", "32.0 GT/s PCIe");
  write(port / "0000:02:00.0/max_link_width", "8");
  write("devices/pci0000:00/0000:03:00.0/max_link_speed", "Unknown");
  write("devices/pci0000:00/0000:03:00.0/max_link_width", "255");
  fs::create_directories(sys_ / "bus/pci/devices");
  fs::create_directory_symlink(sys_ / port / "0000:02:00.0", sys_ / "bus/pci/devices/0000:02:00.0");
  fs::create_directory_symlink(sys_ / "devices/pci0000:00/0000:03:00.0",
                               sys_ / "bus/pci/devices/0000:03:00.0");
  add_pci_rates(builder_, host_, sys_);
  const Topology topology = std::move(builder_).build();
  EXPECT_EQ(topology.node(fast).pci.speed, 16.0);
  EXPECT_EQ(topology.node(fast).pci.width, 8);
  EXPECT_FALSE(shortest_path(topology, fast, silent).bandwidth);
}

TEST_F(Sysfs, VirtualInterfacesClaimNoSpeed) {
  write("class/net/eth0/speed", "10000");
  write("class/net/eth0/operstate", "up");
  write("class/net/docker0/speed", "10000");
  write("class/net/lo/mtu", "65536");
  write("class/net/tap0/tun_flags", "1");
  write("class/net/veth9/operstate", "down");
  add_interfaces(builder_, host_, sys_);
  const Topology topology = std::move(builder_).build();
  const auto nics = topology.of(0, NodeKind::nic);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(topology.node(nics[0]).name, "eth0");
  EXPECT_FALSE(topology.node(nics[0]).nic()->bandwidth);
}

NvidiaGpu nvidia_gpu(int index, const std::string& bus, std::vector<NvlinkPort> ports) {
  return {bus, "NVIDIA H100 80GB HBM3", index, 90, std::move(ports)};
}

TEST_F(Sysfs, NvidiaGpusMeetWhatTheBusShows) {
  using End = NvlinkPort::End;
  const NodeId cpu = add_cpu(0);
  const NodeId known = add(NodeKind::gpu, "0000:1b:00.0", cpu);
  add_nvidia(
      builder_, host_,
      {nvidia_gpu(1, "0000:1b:00.0", {{End::gpu, "0000:2b:00.0"}, {End::gpu, "0000:2b:00.0"}}),
       nvidia_gpu(0, "0000:2b:00.0", {{End::gpu, "0000:1b:00.0"}, {End::gpu, "0000:1b:00.0"}}),
       nvidia_gpu(2, "0000:3b:00.0", {{End::nvswitch, ""}, {End::nvswitch, ""}}),
       nvidia_gpu(3, "0000:4b:00.0",
                  {{End::nvswitch, ""}, {End::nvswitch, ""}, {End::unknown, ""}})});
  const Topology topology = std::move(builder_).build();
  const auto gpus = topology.of(0, NodeKind::gpu);
  ASSERT_EQ(gpus.size(), 4U);
  EXPECT_EQ(gpus[1], known);
  const Path straight = shortest_path(topology, gpus[0], gpus[1]);
  EXPECT_EQ(label_of(straight), "NV2");
  EXPECT_EQ(straight.bandwidth, 50.0);
  EXPECT_EQ(label_of(shortest_path(topology, gpus[2], gpus[3])), "NV2");
  EXPECT_EQ(label_of(shortest_path(topology, gpus[1], gpus[2])), "?");
}

TEST_F(Sysfs, TheWholeOfAMachineComesTogether) {
  write("module/nvidia_peermem/version", "1");
  const auto synthetic = synthetic_topology("mi300x");
  ASSERT_TRUE(synthetic);
  const fs::path xml = sys_ / "machine.xml";
  std::ofstream(xml) << R"(<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3"
 allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
<object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
 complete_nodeset="0x1" gp_index="2" local_memory="1024"/>
<object type="Core" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
 complete_nodeset="0x1" gp_index="3">
<object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
 complete_nodeset="0x1" gp_index="4"/>
<object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1"
 complete_nodeset="0x1" gp_index="5"/></object></object></topology>
)";
  const auto topology = discover_topology({.sys = sys_, .hwloc_xml = xml, .ask_drivers = false});
  ASSERT_TRUE(topology) << topology.error().text;
  ASSERT_EQ(topology->of(0, NodeKind::cpu).size(), 1U);
  EXPECT_EQ(topology->node(topology->devices(0)[0]).kind, NodeKind::cpu) << "no GPU: ranks on CPUs";
  EXPECT_EQ(topology->node(topology->devices(0)[0]).cpu()->affinity, "00000003");
}

TEST(Discover, ThisMachineHasProcessors) {
  const auto topology = discover_topology();
  ASSERT_TRUE(topology) << topology.error().text;
  EXPECT_FALSE(topology->of(0, NodeKind::cpu).empty());
  EXPECT_FALSE(topology->devices(0).empty());
}

TEST(Discover, SettingsNameAFileAndADump) {
  const fs::path folder = fs::temp_directory_path();
  const fs::path file = folder / ("gyre-topo-" + std::to_string(::getpid()) + ".xml");
  const fs::path dump = folder / ("gyre-dump-" + std::to_string(::getpid()) + ".xml");
  const auto synthetic = synthetic_topology("dgx-a100");
  ASSERT_TRUE(synthetic);
  ASSERT_TRUE(dump_topology(*synthetic, file));
  Settings settings;
  settings.topo_file = file.string();
  settings.topo_dump_file = dump.string();
  const auto topology = topology_by_settings(settings);
  ASSERT_TRUE(topology) << topology.error().text;
  EXPECT_EQ(topology->devices(0).size(), 8U);
  EXPECT_EQ(fs::file_size(file), fs::file_size(dump));
  settings.topo_file = "/nowhere/at.all";
  const auto missing = topology_by_settings(settings);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text.find("/nowhere/at.all"), std::string::npos);
  fs::remove(file);
  fs::remove(dump);
}

}  // namespace
}  // namespace gyre::topo
