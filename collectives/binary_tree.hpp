// Where a rank stands in a binary tree: what trees of ranks and trees of hosts are built of.
#pragma once

#include <cstdint>

#include "schedule/builder.hpp"

namespace gyre {

// A binary tree over the ranks first, first + 1, ..., `size` of them, modulo the world. In order:
// those at odd places (counted from 1) are leaves, and the parent of a place is that with its
// lowest set bit moved up by one.
struct Tree {
  std::int64_t first = 0;
  std::int64_t size = 1;
  std::uint32_t world = 1;
  // The second tree: mirrored, or turned by one where that keeps odd places odd.
  bool other = false;

  std::int64_t rank_at(std::int64_t place) const { return first + turned(place) - 1; }
  std::int64_t place_of(std::int64_t rank) const;
  std::int64_t root_place() const;

 private:
  std::int64_t turned(std::int64_t place) const;
};

// A rank's lanes in a tree.
struct Node {
  bool is_root = false;
  std::int64_t parent = 0;
  From children{0, 0, 0};

  bool is_leaf() const { return children.count == 0; }
  To to_children() const { return {children.first, 0, children.count, children.stride}; }
};

Node node_of(const Tree& tree, std::int64_t rank);
// How many hops it is to the root.
std::uint32_t depth_of(const Tree& tree, std::int64_t rank);

}  // namespace gyre
