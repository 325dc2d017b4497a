#include "collectives/tree.hpp"

#include "collectives/binary_tree.hpp"
#include "schedule/builder.hpp"

namespace gyre {
namespace {

// Towards the root, whose other strand sends the result back down.
Draft up(const Node& at, std::int64_t chunk) {
  if (at.is_root) {
    return recv_reduce_store(at.children, In{chunk}, Out{chunk}).finish().telling_other_strand();
  }
  if (at.is_leaf()) return send(In{chunk}, To{at.parent});
  return recv_reduce_send(at.children, In{chunk}, To{at.parent});
}
Draft down(const Node& at, std::int64_t chunk) {
  if (at.is_root) return send(Out{chunk}, at.to_children()).after_other_strand();
  if (at.is_leaf()) return recv_store(From{at.parent}, Out{chunk});
  return recv_store_send(From{at.parent}, Out{chunk}, at.to_children());
}

}  // namespace

Program tree::all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const Node at = node_of({.size = world, .world = world}, rank);
  return Builder(rank, world).loop(1, up(at, 0)).strand().loop(1, down(at, 0)).program();
}

// A lane may lead up one tree and down the other, but never up both: so each strand has one
// direction of either tree. The lag lets tiles go up before others have come down.
Program double_tree::all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return tree::all_reduce(rank, world);
  constexpr std::uint16_t kLag = 2;
  const Node one = node_of({.size = world, .world = world}, rank);
  const Node other = node_of({.size = world, .world = world, .other = true}, rank);
  return Builder(rank, world, 2, 2)
      .lagged_loop(1, 0, up(one, 0))
      .lagged_loop(1, kLag, down(other, 1))
      .strand()
      .lagged_loop(1, 0, up(other, 1))
      .lagged_loop(1, kLag, down(one, 0))
      .program();
}

namespace {

// The two trees over all ranks but the root.
Tree tree_below(std::uint32_t root, std::uint32_t world, bool other) {
  return {std::int64_t{root} + 1, std::int64_t{world} - 1, world, other};
}

Draft pass_down(const Tree& tree, std::uint32_t rank, std::uint32_t root, std::int64_t chunk) {
  if (rank == root) return copy_send(In{chunk}, Out{chunk}, To{tree.rank_at(tree.root_place())});
  const Node at = node_of(tree, rank);
  const From parent{at.is_root ? std::int64_t{root} : at.parent};
  if (at.is_leaf()) return recv_store(parent, Out{chunk});
  return recv_store_send(parent, Out{chunk}, at.to_children());
}

Draft pass_up(const Tree& tree, std::uint32_t rank, std::uint32_t root, std::int64_t chunk) {
  if (rank == root) {
    return recv_reduce_store(From{tree.rank_at(tree.root_place())}, In{chunk}, Out{chunk}).finish();
  }
  const Node at = node_of(tree, rank);
  const To parent{at.is_root ? std::int64_t{root} : at.parent};
  if (at.is_leaf()) return send(In{chunk}, parent);
  return recv_reduce_send(at.children, In{chunk}, parent);
}

}  // namespace

Program double_tree::broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  const Tree one = tree_below(root, world, false), other = tree_below(root, world, true);
  return Builder(rank, world, 2, 2)
      .loop(1, pass_down(one, rank, root, 0), pass_down(other, rank, root, 1))
      .program();
}

Program double_tree::reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const Tree one = tree_below(root, world, false), other = tree_below(root, world, true);
  return Builder(rank, world, 2, 2)
      .loop(1, pass_up(one, rank, root, 0), pass_up(other, rank, root, 1))
      .program();
}

}  // namespace gyre
