// Rings and trees of one host, against a brute force that shares no code with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/topology_files.hpp"
#include "tests/unit/topology_machines.hpp"
#include "topology/direct.hpp"
#include "topology/discover.hpp"
#include "topology/paths.hpp"
#include "topology/rings.hpp"
#include "topology/synthetic.hpp"
#include "topology/trees.hpp"

namespace gyre::topo {
namespace {

std::filesystem::path topology_folder() { return GYRE_TOPOLOGIES; }

using Matrix = std::vector<std::vector<int>>;

// Every way around, by permutation.
std::vector<std::vector<int>> all_cycles(const Matrix& links) {
  std::vector<int> order(links.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> cycles;
  do {
    bool there = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto from = static_cast<std::size_t>(order[i]);
      const auto to = static_cast<std::size_t>(order[(i + 1) % order.size()]);
      there = there && links[from][to] > 0;
    }
    if (there) cycles.push_back(order);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return cycles;
}

// The most cycles of which no two need the same link, by trying all sets.
int most_disjoint(const std::vector<std::vector<int>>& cycles, Matrix left, std::size_t from) {
  int most = 0;
  for (std::size_t c = from; c < cycles.size(); ++c) {
    const auto& cycle = cycles[c];
    Matrix rest = left;
    bool fits = true;
    for (std::size_t i = 0; i < cycle.size() && fits; ++i) {
      fits = rest[static_cast<std::size_t>(cycle[i])]
                 [static_cast<std::size_t>(cycle[(i + 1) % cycle.size()])]-- > 0;
    }
    if (fits) most = std::max(most, 1 + most_disjoint(cycles, rest, c));
  }
  return most;
}

Matrix links_of(const Topology& topology) {
  const auto gpus = topology.of(0, NodeKind::gpu);
  Matrix links(gpus.size(), std::vector<int>(gpus.size()));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (const Link& link : topology.links(gpus[i])) {
      const auto at = std::find(gpus.begin(), gpus.end(), link.to);
      if (at != gpus.end()) links[i][static_cast<std::size_t>(at - gpus.begin())] += link.count;
    }
  }
  return links;
}

// Whether anyone can go around over links alone, by plain depth-first search.
bool goes_around(const Matrix& links, std::vector<bool>& seen, std::size_t at, std::size_t count) {
  if (count == links.size()) return links[at][0] > 0;
  for (std::size_t next = 0; next < links.size(); ++next) {
    if (seen[next] || links[at][next] == 0) continue;
    seen[next] = true;
    if (goes_around(links, seen, next, count + 1)) return true;
    seen[next] = false;
  }
  return false;
}

bool goes_around(const Matrix& links) {
  std::vector<bool> seen(links.size(), false);
  seen[0] = true;
  return links.size() > 1 && goes_around(links, seen, 0, 1);
}

// Each visits everyone once, and the direct ones together use no link twice.
void expect_sound(const Topology& topology, const RingSet& set, const std::string& what) {
  const auto devices = topology.devices(0);
  std::map<std::pair<NodeId, NodeId>, int> used;
  for (const Ring& ring : set.rings) {
    EXPECT_EQ(ring.order.size(), devices.size()) << what;
    EXPECT_EQ(std::set<NodeId>(ring.order.begin(), ring.order.end()).size(), devices.size())
        << what;
    for (std::size_t i = 0; i < ring.order.size() && ring.direct; ++i) {
      const NodeId from = ring.order[i], to = ring.order[(i + 1) % ring.order.size()];
      const auto link = direct_link(topology, from, to);
      ASSERT_TRUE(link) << what;
      const int times = ++used[std::pair(from, to)];
      EXPECT_LE(times, link->count) << what;
    }
  }
}

TEST(Rings, AsManyAsBruteForceFindsOnSmallMachines) {
  constexpr unsigned kSeed = 20261130;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 150; ++round) {
    const int gpus = 2 + round % 4;
    std::vector<TestLink> links;
    for (int a = 0; a < gpus; ++a) {
      for (int b = a + 1; b < gpus; ++b) {
        const int count = static_cast<int>(random() % 4) - 1;
        if (count > 0) links.push_back({a, b, count});
      }
    }
    const Topology topology = test_machine(gpus, links);
    const Matrix matrix = links_of(topology);
    const auto cycles = all_cycles(matrix);
    const RingSet set = find_rings(topology, topology.devices(0));
    const std::string what = "seed " + std::to_string(kSeed) + " round " + std::to_string(round);
    expect_sound(topology, set, what);
    ASSERT_FALSE(set.rings.empty()) << what;
    EXPECT_EQ(set.rings.front().direct, !cycles.empty()) << what;
    if (!cycles.empty()) {
      EXPECT_EQ(std::ssize(set.rings), most_disjoint(cycles, matrix, 0)) << what;
    }
  }
}

TEST(Rings, SixGpusJoinedToEachOtherHaveFourRingsAndSevenSix) {
  for (const auto& [gpus, rings] : std::map<int, int>{{3, 2}, {5, 4}, {6, 4}, {7, 6}, {9, 8}}) {
    std::vector<TestLink> links;
    for (int a = 0; a < gpus; ++a) {
      for (int b = a + 1; b < gpus; ++b) links.push_back({a, b, 1});
    }
    const Topology topology = test_machine(gpus, links);
    const RingSet set = find_rings(topology, topology.devices(0));
    expect_sound(topology, set, "complete");
    // 6 nodes cannot be split into 5 (Tillson).
    EXPECT_EQ(std::ssize(set.rings), rings) << gpus;
  }
}

TEST(Rings, EightGpusJoinedToEachOtherUseEveryLinkBothWays) {
  const auto topology = synthetic_topology("mi300x");
  ASSERT_TRUE(topology);
  const RingSet set = find_rings(*topology, topology->devices(0));
  expect_sound(*topology, set, "mi300x");
  EXPECT_EQ(set.rings.size(), 7U);
  EXPECT_TRUE(set.best);
  EXPECT_EQ(set.bandwidth, 7 * 64.0);
}

TEST(Rings, TheHybridCubeMeshHasSix) {
  const auto topology = synthetic_topology("dgx-1v");
  ASSERT_TRUE(topology);
  const RingSet set = find_rings(*topology, topology->devices(0));
  expect_sound(*topology, set, "dgx-1v");
  EXPECT_EQ(set.rings.size(), 6U);
  EXPECT_EQ(set.bandwidth, 150.0);
}

TEST(Rings, SwitchesCarryEveryPortsBandwidth) {
  const auto topology = synthetic_topology("dgx-h100");
  ASSERT_TRUE(topology);
  const RingSet set = find_rings(*topology, topology->devices(0));
  expect_sound(*topology, set, "dgx-h100");
  EXPECT_EQ(set.rings.size(), 18U);
  EXPECT_DOUBLE_EQ(set.bandwidth.value_or(0), 450.0);
}

TEST(Rings, WithoutDirectLinksSocketsAreCrossedTwice) {
  const auto topology = synthetic_topology("pcie");
  ASSERT_TRUE(topology);
  const RingSet set = find_rings(*topology, topology->devices(0));
  expect_sound(*topology, set, "pcie");
  ASSERT_EQ(set.rings.size(), 2U);
  for (const Ring& ring : set.rings) {
    std::map<PathKind, int> kinds;
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      ++kinds[shortest_path(*topology, ring.order[i], ring.order[(i + 1) % 8]).kind];
    }
    EXPECT_EQ(kinds[PathKind::sys], 2);
    EXPECT_EQ(kinds[PathKind::pix], 4);
    EXPECT_EQ(kinds[PathKind::phb], 2);
  }
}

TEST(Rings, TheSameMachineAlwaysGivesTheSame) {
  const auto topology = synthetic_topology("mi300x");
  ASSERT_TRUE(topology);
  const RingSet first = find_rings(*topology, topology->devices(0));
  const RingSet second = find_rings(*topology, topology->devices(0));
  ASSERT_EQ(first.rings.size(), second.rings.size());
  for (std::size_t i = 0; i < first.rings.size(); ++i) {
    EXPECT_EQ(first.rings[i].order, second.rings[i].order);
  }
}

TEST(Rings, TheBudgetEndsTheSearchWithTheBestSoFar) {
  const auto topology = synthetic_topology("mi300x");
  ASSERT_TRUE(topology);
  const RingSet set = find_rings(*topology, topology->devices(0), {.most = 16, .budget = 1});
  expect_sound(*topology, set, "tiny budget");
  EXPECT_GE(set.rings.size(), 1U);
  const RingSet few = find_rings(*topology, topology->devices(0), {.most = 3});
  EXPECT_EQ(few.rings.size(), 3U);
}

TEST(Rings, OneDeviceAndNone) {
  const Topology one = test_machine(1, {});
  EXPECT_EQ(find_rings(one, one.devices(0)).rings.size(), 1U);
  EXPECT_TRUE(find_rings(one, {}).rings.empty());
}

// How often a ring leaves direct links for something at least as far as `kind`.
int count_far(const Topology& topology, const Ring& ring, PathKind kind) {
  int far = 0;
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    const NodeId from = ring.order[i], to = ring.order[(i + 1) % ring.order.size()];
    if (shortest_path(topology, from, to).kind >= kind) ++far;
  }
  return far;
}

// The fewest steps of that kind that any order has, by permutation (8 devices at most).
int fewest_far(const Topology& topology, PathKind kind) {
  const auto devices = topology.devices(0);
  std::vector<std::vector<int>> far(devices.size(), std::vector<int>(devices.size()));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      far[i][j] = shortest_path(topology, devices[i], devices[j]).kind >= kind ? 1 : 0;
    }
  }
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), 0U);
  int fewest = static_cast<int>(devices.size());
  do {
    int here = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      here += far[order[i]][order[(i + 1) % order.size()]];
    fewest = std::min(fewest, here);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return fewest;
}

TEST(RealMachines, EveryRingIsDirectWhereOneCanBe) {
  if (const std::string why = no_topology_files(GYRE_TOPOLOGIES); !why.empty()) GTEST_SKIP() << why;
  for (const auto& file : topology_files(topology_folder() / "nccl")) {
    const auto topology = load_topology(file);
    ASSERT_TRUE(topology) << topology.error().text;
    const std::string what = file.filename().string();
    EXPECT_TRUE(topology->remarks().empty()) << what << topology->remarks()[0];
    const auto devices = topology->devices(0);
    const RingSet set = find_rings(*topology, devices);
    expect_sound(*topology, set, what);
    ASSERT_FALSE(set.rings.empty()) << what;
    const bool direct = goes_around(links_of(*topology));
    for (const Ring& ring : set.rings) {
      EXPECT_EQ(ring.direct, direct) << what;
      if (direct || devices.size() > 8) continue;
      EXPECT_EQ(count_far(*topology, ring, PathKind::sys), fewest_far(*topology, PathKind::sys))
          << what;
    }
    const auto links = links_of(*topology);
    const bool complete = std::all_of(links.begin(), links.end(), [](const auto& row) {
      return std::count(row.begin(), row.end(), 1) == std::ssize(row) - 1;
    });
    if (complete && devices.size() == 8) {
      EXPECT_EQ(set.rings.size(), 7U) << what;
    }
    for (const Tree& tree : find_trees(*topology, devices, set)) {
      EXPECT_EQ(std::count(tree.parents.begin(), tree.parents.end(), -1), 1) << what;
    }
  }
}

TEST(RealMachines, Dgx2ReachesAllThroughItsSwitches) {
  if (const std::string why = no_topology_files(GYRE_TOPOLOGIES); !why.empty()) GTEST_SKIP() << why;
  const auto topology = load_topology(topology_folder() / "hwloc/nvidiaDGX2.xml");
  ASSERT_TRUE(topology) << topology.error().text;
  const auto gpus = topology->of(0, NodeKind::gpu);
  ASSERT_EQ(gpus.size(), 16U);
  EXPECT_EQ(topology->of(0, NodeKind::nvswitch).size(), 12U);
  for (const NodeId a : gpus) {
    for (const NodeId b : gpus) {
      const Path path = shortest_path(*topology, a, b);
      EXPECT_EQ(label_of(path), a == b ? "X" : "NV6");
      EXPECT_TRUE(a == b || path.bandwidth == 150.0);
    }
  }
  EXPECT_EQ(label_of(host_path(*topology, gpus[0], gpus[1])), "PIX");
  EXPECT_EQ(label_of(host_path(*topology, gpus[0], gpus[2])), "PXB");
  EXPECT_EQ(label_of(host_path(*topology, gpus[0], gpus[4])), "NODE");
  EXPECT_EQ(label_of(host_path(*topology, gpus[0], gpus[8])), "SYS");
  const RingSet set = find_rings(*topology, gpus);
  expect_sound(*topology, set, "DGX-2");
  EXPECT_EQ(set.rings.size(), 6U);
  EXPECT_EQ(set.bandwidth, 150.0);
}

TEST(RealMachines, HwlocFilesWithFewerGpus) {
  if (const std::string why = no_topology_files(GYRE_TOPOLOGIES); !why.empty()) GTEST_SKIP() << why;
  const auto power = load_topology(topology_folder() / "hwloc/power8gpudistances.xml");
  ASSERT_TRUE(power) << power.error().text;
  const auto gpus = power->of(0, NodeKind::gpu);
  ASSERT_EQ(gpus.size(), 4U);
  EXPECT_EQ(label_of(shortest_path(*power, gpus[0], gpus[1])), "NV2");
  EXPECT_EQ(label_of(shortest_path(*power, gpus[0], gpus[2])), "SYS");
  const auto whole = load_topology(topology_folder() / "hwloc/32em64t-2n8c2t-pci-wholeio.xml");
  ASSERT_TRUE(whole) << whole.error().text;
  const auto nics = whole->of(0, NodeKind::nic);
  EXPECT_TRUE(std::any_of(nics.begin(), nics.end(), [&](NodeId id) {
    return whole->node(id).name == "mlx5_0" && whole->node(id).nic()->interface == "ib0";
  }));
}

TEST(Trees, PairsWorkInOneTreeEach) {
  for (int nodes = 1; nodes <= 300; ++nodes) {
    const auto pair = double_binary_tree(nodes);
    std::vector<int> children(static_cast<std::size_t>(nodes) * 2);
    for (std::size_t tree = 0; tree < 2; ++tree) {
      EXPECT_EQ(std::count(pair[tree].begin(), pair[tree].end(), -1), 1);
      for (const int parent : pair[tree]) {
        if (parent >= 0) ++children[static_cast<std::size_t>(parent) * 2 + tree];
      }
      int depth = 1;
      while (1 << depth < nodes) ++depth;
      EXPECT_LE(depth_of(pair[tree]), depth) << nodes;
    }
    for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node) {
      EXPECT_LE(children[node * 2], 2);
      EXPECT_LE(children[node * 2 + 1], 2);
      const bool root = pair[0][node] < 0 || pair[1][node] < 0;
      EXPECT_TRUE(root || children[node * 2] == 0 || children[node * 2 + 1] == 0) << nodes;
    }
  }
}

TEST(Trees, AnotherRootKeepsTheEdges) {
  const Parents parents = binary_tree(13);
  for (int root = 0; root < 13; ++root) {
    const Parents turned = rooted_at(parents, root);
    EXPECT_EQ(turned[static_cast<std::size_t>(root)], -1);
    std::multiset<std::pair<int, int>> before, after;
    for (int i = 0; i < 13; ++i) {
      const int was = parents[static_cast<std::size_t>(i)],
                is = turned[static_cast<std::size_t>(i)];
      if (was >= 0) before.insert(std::minmax(i, was));
      if (is >= 0) after.insert(std::minmax(i, is));
    }
    EXPECT_EQ(before, after);
  }
}

}  // namespace
}  // namespace gyre::topo
