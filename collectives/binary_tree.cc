#include "collectives/binary_tree.hpp"

#include <bit>

namespace gyre {

std::int64_t Tree::place_of(std::int64_t rank) const {
  const std::int64_t n = world;
  const std::int64_t place = ((rank - first) % n + n) % n + 1;
  return other && size % 2 != 0 ? place % size + 1 : turned(place);
}

std::int64_t Tree::root_place() const {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

std::int64_t Tree::turned(std::int64_t place) const {
  if (!other) return place;
  if (size % 2 == 0) return size + 1 - place;
  return place == 1 ? size : place - 1;
}

Node node_of(const Tree& tree, std::int64_t rank) {
  const std::int64_t place = tree.place_of(rank), low = place & -place;
  const std::int64_t up = (place ^ low) | (2 * low);
  Node node;
  node.is_root = place == tree.root_place();
  node.parent = tree.rank_at(up <= tree.size ? up : place ^ low);
  std::int64_t right = low / 2;
  while (right > 0 && place + right > tree.size) right /= 2;
  if (low == 1) return node;
  const std::int64_t left = tree.rank_at(place - low / 2);
  node.children = From{left};
  if (right == 0) return node;
  node.children.count = 2;
  node.children.stride = tree.rank_at(place + right) - left;
  return node;
}

std::uint32_t depth_of(const Tree& tree, std::int64_t rank) {
  std::uint32_t depth = 0;
  for (Node at = node_of(tree, rank); !at.is_root; at = node_of(tree, at.parent)) ++depth;
  return depth;
}

}  // namespace gyre
