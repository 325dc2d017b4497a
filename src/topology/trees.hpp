// Trees over ranks: pairs of binary trees in which nobody works in both, and trees over devices of
// a host along its rings.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "topology/rings.hpp"
#include "topology/topology.hpp"

namespace gyre::topo {

// parent[i] of the nodes 0 to n - 1; -1 for the root.
using Parents = std::vector<int>;

// A tree of depth about log2(n) in which only even nodes have children: two at most, the root 0
// one.
Parents binary_tree(int nodes);

// Two such trees in which no node but the roots has children in both, so that each node's two
// halves of the work add up to one node's bandwidth.
std::array<Parents, 2> double_binary_tree(int nodes);

struct Tree {
  std::vector<NodeId> nodes;
  Parents parents;   // by position in `nodes`
  Figure bandwidth;  // GB/s of the narrowest step
  int depth = 0;     // steps from the farthest node to the root
  bool direct = false;
};

// Trees over devices of one host: a double binary tree where all pairs have direct links, else the
// first ring cut open at its farthest step, with its middle as root.
std::vector<Tree> find_trees(const Topology& topology, std::span<const NodeId> devices,
                             const RingSet& rings);

// The same tree with another node as root.
Parents rooted_at(const Parents& parents, int root);
int depth_of(const Parents& parents);

}  // namespace gyre::topo
