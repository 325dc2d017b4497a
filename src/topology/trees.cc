#include "topology/trees.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "topology/direct.hpp"
#include "topology/paths.hpp"

namespace gyre::topo {
namespace {

// Fills in the figures that follow from nodes and parents.
Tree described(const Topology& topology, std::vector<NodeId> nodes, Parents parents) {
  Tree tree{std::move(nodes), std::move(parents), {}, 0, true};
  tree.depth = depth_of(tree.parents);
  Figure least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.parents[i] < 0) continue;
    const NodeId parent = tree.nodes[static_cast<std::size_t>(tree.parents[i])];
    const Path path = shortest_path(topology, tree.nodes[i], parent);
    least = least && path.bandwidth ? Figure(std::min(*least, *path.bandwidth)) : Figure();
    if (!direct_link(topology, tree.nodes[i], parent)) tree.direct = false;
  }
  if (tree.nodes.size() > 1) tree.bandwidth = least;
  return tree;
}

bool all_direct(const Topology& topology, std::span<const NodeId> devices) {
  for (const NodeId a : devices) {
    for (const NodeId b : devices) {
      if (a != b && !direct_link(topology, a, b)) return false;
    }
  }
  return true;
}

// Cut before the step that leads farthest, the ring is a chain; from its middle it is a tree.
Tree opened(const Topology& topology, const std::vector<NodeId>& ring) {
  const std::size_t count = ring.size();
  std::size_t cut = 0;
  PathKind farthest = PathKind::self;
  for (std::size_t i = 0; i < count; ++i) {
    const Path path = shortest_path(topology, ring[(i + count - 1) % count], ring[i]);
    if (path.kind > farthest) farthest = path.kind, cut = i;
  }
  std::vector<NodeId> chain(ring);
  std::rotate(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(cut), chain.end());
  const auto root = static_cast<int>(count / 2);
  Parents parents;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    parents.push_back(i == root ? -1 : i < root ? i + 1 : i - 1);
  }
  return described(topology, std::move(chain), std::move(parents));
}

}  // namespace

Parents binary_tree(int nodes) {
  // In order, a node's lowest set bit says how high it stands, so leaves are odd.
  Parents parents(static_cast<std::size_t>(nodes), -1);
  for (int node = 1; node < nodes; ++node) {
    const int bit = node & -node;
    const int up = (node & ~bit) | (bit << 1);
    parents[static_cast<std::size_t>(node)] = up < nodes ? up : node & ~bit;
  }
  return parents;
}

std::array<Parents, 2> double_binary_tree(int nodes) {
  const Parents first = binary_tree(nodes);
  Parents second(first.size(), -1);
  // An even count: seen from the other end, leaves and others change places. An odd one: moved by
  // one.
  const auto image = [nodes](int node) {
    return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes;
  };
  for (int node = 0; node < nodes; ++node) {
    const int parent = first[static_cast<std::size_t>(node)];
    second[static_cast<std::size_t>(image(node))] = parent < 0 ? -1 : image(parent);
  }
  return {first, second};
}

int depth_of(const Parents& parents) {
  int deepest = 0;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    int depth = 0;
    for (int at = parents[i]; at >= 0; at = parents[static_cast<std::size_t>(at)]) ++depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

Parents rooted_at(const Parents& parents, int root) {
  Parents turned = parents;
  int child = -1;
  for (int at = root; at >= 0;) {
    const int next = parents[static_cast<std::size_t>(at)];
    turned[static_cast<std::size_t>(at)] = child;
    child = at;
    at = next;
  }
  return turned;
}

std::vector<Tree> find_trees(const Topology& topology, std::span<const NodeId> devices,
                             const RingSet& rings) {
  if (devices.empty() || rings.rings.empty()) return {};
  std::vector<Tree> trees;
  if (devices.size() > 2 && all_direct(topology, devices)) {
    for (const Parents& parents : double_binary_tree(static_cast<int>(devices.size()))) {
      trees.push_back(described(topology, {devices.begin(), devices.end()}, parents));
    }
    return trees;
  }
  trees.push_back(opened(topology, rings.rings.front().order));
  return trees;
}

}  // namespace gyre::topo
