// Orders over several hosts, and synthetic clusters up to ten thousand ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "topology/orders.hpp"
#include "topology/paths.hpp"
#include "topology/synthetic.hpp"

namespace gyre::topo {
namespace {

Orders orders_of(std::string_view name, Topology& topology) {
  auto made = synthetic_topology(name);
  EXPECT_TRUE(made) << made.error().text;
  topology = *std::move(made);
  return find_orders(topology);
}

// Every ring visits every device once, a host's devices in one stretch; every tree is one.
void expect_sound(const Topology& topology, const Orders& orders, const std::string& what) {
  const auto devices = topology.devices();
  ASSERT_FALSE(orders.rings.empty()) << what;
  for (const Ring& ring : orders.rings) {
    EXPECT_EQ(std::set<NodeId>(ring.order.begin(), ring.order.end()),
              std::set<NodeId>(devices.begin(), devices.end()))
        << what;
    EXPECT_EQ(ring.order.size(), devices.size()) << what;
    std::size_t changes = 0;
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      const NodeId next = ring.order[(i + 1) % ring.order.size()];
      if (topology.node(ring.order[i]).host != topology.node(next).host) ++changes;
    }
    EXPECT_EQ(changes, topology.hosts().size() > 1 ? topology.hosts().size() : 0) << what;
  }
  ASSERT_FALSE(orders.trees.empty()) << what;
  for (const Tree& tree : orders.trees) {
    EXPECT_EQ(tree.nodes.size(), devices.size()) << what;
    EXPECT_EQ(std::count(tree.parents.begin(), tree.parents.end(), -1), 1) << what;
    // depth_of ends only if there are no loops.
    EXPECT_EQ(depth_of(tree.parents), tree.depth) << what;
  }
}

TEST(Orders, RailsAreKeptFromHostToHost) {
  for (const char* name : {"2xdgx-h100:rail", "4xmi300x:rail", "6xdgx-a100:fat-tree"}) {
    Topology topology;
    const Orders orders = orders_of(name, topology);
    expect_sound(topology, orders, name);
    EXPECT_EQ(orders.rings.size(), 8U) << name;
    EXPECT_EQ(orders.rail_crossings, 0) << name;
  }
}

TEST(Orders, EachInterfaceCarriesOneRingInAndOneOut) {
  Topology topology;
  const Orders orders = orders_of("4xdgx-h100:rail", topology);
  std::map<NodeId, int> in, out;
  for (const Ring& ring : orders.rings) {
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      const NodeId from = ring.order[i], to = ring.order[(i + 1) % ring.order.size()];
      if (topology.node(from).host == topology.node(to).host) continue;
      ++out[from];
      ++in[to];
    }
  }
  for (const NodeId device : topology.devices()) {
    EXPECT_EQ(in[device], 1);
    EXPECT_EQ(out[device], 1);
  }
  EXPECT_EQ(orders.bandwidth, 400.0);
}

TEST(Orders, MixedClustersAndOddCounts) {
  for (const char* name : {"2xdgx-h100+2xmi300x:rail", "3xdgx-h100", "dgx-h100+cpu+pcie:fat-tree",
                           "5xcpu", "2xdgx-1v+3xpcie", "dgx-h100"}) {
    Topology topology;
    const Orders orders = orders_of(name, topology);
    expect_sound(topology, orders, name);
    // An odd count closes with one crossing at most; other shapes may need more.
    EXPECT_LE(orders.rail_crossings, orders.host_steps) << name;
  }
}

TEST(Orders, TenThousandRanksAreQuick) {
  for (const char* name :
       {"1250xdgx-h100:rail", "1250xmi300x:fat-tree", "600xdgx-h100+650xmi300x:rail"}) {
    // Of the processor, not of the clock: others may run here.
    const std::clock_t start = std::clock();
    Topology topology;
    const Orders orders = orders_of(name, topology);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_EQ(topology.devices().size(), 10000U);
    EXPECT_EQ(orders.rings.size(), 8U);
    for (const Ring& ring : orders.rings) EXPECT_EQ(ring.order.size(), 10000U);
    EXPECT_LE(orders.trees.front().depth, 2 * 11 + 2 * 4 + 8);
    RecordProperty(name, std::to_string(seconds) + " s");
    // It takes a hundredth of that; a search per host would take minutes.
    EXPECT_LT(seconds, 20) << name;
  }
}

TEST(Synthetic, BadNamesAreRefusedWithTheGrammar) {
  for (const char* bad : {"", "dgx", "0xdgx-h100", "5000xcpu", "4xdgx-h100:mesh", "dgx-h100+",
                          "99999999999999999999xcpu", "x", "3x"}) {
    const auto topology = synthetic_topology(bad);
    ASSERT_FALSE(topology) << bad;
    EXPECT_NE(topology.error().text.find("MODEL"), std::string::npos);
  }
}

TEST(Synthetic, EveryPairOfAClusterIsJoined) {
  for (const char* name : {"20xdgx-h100:rail", "20xmi300x:fat-tree", "130xcpu:rail"}) {
    const auto topology = synthetic_topology(name);
    ASSERT_TRUE(topology);
    const auto devices = topology->devices();
    const Path path = shortest_path(*topology, devices.front(), devices.back());
    EXPECT_EQ(path.kind, PathKind::net) << name;
    EXPECT_TRUE(path.bandwidth) << name;
  }
}

}  // namespace
}  // namespace gyre::topo
