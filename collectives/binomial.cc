#include "collectives/binomial.hpp"

#include <algorithm>
#include <bit>

#include "schedule/builder.hpp"

namespace gyre::binomial {
namespace {

// A rank's place in the tree.
struct Node {
  std::int64_t parent = 0;       // a rank; no meaning for the root
  std::int64_t reach = 0;        // distance of the farthest child; 0: none. The others halve it.
  std::int64_t descendants = 0;  // of this rank, itself included
  std::int64_t farthest = 0;     // of the farthest child, itself included

  std::int64_t children() const { return rounds_over(2 * reach); }
  // The farthest child may have fewer descendants than its distance allows.
  std::int64_t full_children() const { return farthest == reach ? children() : children() - 1; }
};

Node node_of(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  const std::uint32_t place = (rank + world - root) % world;
  const std::uint32_t span = place == 0 ? std::bit_ceil(world) : place & (~place + 1);
  const std::uint32_t below = std::min(span - 1, world - 1 - place);
  Node node;
  node.parent = std::int64_t{rank} - span;
  node.reach = std::bit_floor(below);
  node.descendants = std::int64_t{below} + 1;
  node.farthest = node.reach == 0 ? 0 : node.descendants - node.reach;
  return node;
}

RoundLoop nearest_first(const Node& at, std::int64_t first, std::int64_t trips) {
  return doubling(2 * at.reach, first, trips);
}
RoundLoop farthest_first(const Node& at, std::int64_t first, std::int64_t trips) {
  return halving(2 * at.reach, first, trips);
}

std::uint32_t count_of(std::int64_t chunks) { return static_cast<std::uint32_t>(chunks); }

}  // namespace

Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  const Node at = node_of(rank, world, root);
  Builder builder(rank, world);
  builder.loop(1, rank == root ? copy(In{0}, Out{0}) : recv_store(From{at.parent}, Out{0}));
  return builder.loop(farthest_first(at, 0, at.children()), send(Out{0}, to_above(rank))).program();
}

Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const Node at = node_of(rank, world, root);
  const bool is_root = rank == root;
  const std::int64_t children = at.children();
  if (children == 0) return Builder(rank, world).loop(1, send(In{0}, To{at.parent})).program();
  const Target sum = is_root ? Target(Out{0}) : Target(Scratch{0});
  const From child = from_above(rank);
  const Draft last = recv_reduce_store(child, children == 1 ? Operand(In{0}) : Operand(sum), sum);
  Builder builder(rank, world);
  builder.scratch(is_root ? 0 : 1)
      .loop(nearest_first(at, 0, children == 1 ? 0 : 1), recv_reduce_store(child, In{0}, sum))
      .loop(nearest_first(at, 1, children - 2), recv_reduce_store(child, sum, sum))
      .loop(nearest_first(at, children - 1, 1), is_root ? last.finish() : last);
  if (!is_root) builder.loop(1, send(sum, To{at.parent}));
  return builder.program();
}

// A rank collects its descendants' chunks behind its own, and passes them on together.
Program gather(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  const Node at = node_of(rank, world, root);
  const std::int64_t r = rank;
  Builder builder(rank, world, 1, world);
  if (rank == root) {
    return builder.loop(1, copy(In{0}, Out{r}))
        .loop(nearest_first(at, 0, at.full_children()), recv_store(from_above(r), far(Out{r})))
        .loop(at.children() - at.full_children(),
              recv_store(From{r + at.reach}, Out{r + at.reach, 0, count_of(at.farthest)}))
        .program();
  }
  if (at.reach == 0) return builder.loop(1, send(In{0}, To{at.parent})).program();
  return builder.scratch(count_of(at.descendants))
      .loop(1, copy(In{0}, Scratch{0}))
      .loop(nearest_first(at, 0, at.full_children()), recv_store(from_above(r), far(Scratch{0})))
      .loop(at.children() - at.full_children(),
            recv_store(From{r + at.reach}, Scratch{at.reach, 0, count_of(at.farthest)}))
      .loop(1, send(Scratch{0, 0, count_of(at.descendants)}, To{at.parent}))
      .program();
}

// The same backwards.
Program scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  const Node at = node_of(rank, world, root);
  const std::int64_t r = rank, clipped = at.children() - at.full_children();
  Builder builder(rank, world, world, 1);
  if (rank == root) {
    return builder.loop(clipped, send(In{r + at.reach, 0, count_of(at.farthest)}, To{r + at.reach}))
        .loop(farthest_first(at, clipped, at.full_children()), send(far(In{r}), to_above(r)))
        .loop(1, copy(In{r}, Out{0}))
        .program();
  }
  if (at.reach == 0) return builder.loop(1, recv_store(From{at.parent}, Out{0})).program();
  return builder.scratch(count_of(at.descendants))
      .loop(1, recv_store(From{at.parent}, Scratch{0, 0, count_of(at.descendants)}))
      .loop(clipped, send(Scratch{at.reach, 0, count_of(at.farthest)}, To{r + at.reach}))
      .loop(farthest_first(at, clipped, at.full_children()), send(far(Scratch{0}), to_above(r)))
      .loop(1, copy(Scratch{0}, Out{0}))
      .program();
}

}  // namespace gyre::binomial
