#include "collectives/ring.hpp"

#include "schedule/builder.hpp"

namespace gyre::ring {
namespace {

struct Neighbours {
  From previous;
  To next;
};

Neighbours neighbours_of(std::int64_t rank) { return {From{rank - 1}, To{rank + 1}}; }

// Every `stride`-th chunk of a side, from `first` on: those of one ring.
struct Share {
  std::int64_t first = 0;
  std::int64_t stride = 1;

  template <typename Side>
  Side chunk(std::int64_t index, int advance = 0) const {
    return {first + stride * index, static_cast<std::int16_t>(advance * stride)};
  }
  In in(std::int64_t index, int advance = 0) const { return chunk<In>(index, advance); }
  Out out(std::int64_t index, int advance = 0) const { return chunk<Out>(index, advance); }
};

// Chunk c starts at place c + 1, gathers one contribution per hop, is complete when it reaches
// place c, and goes round once more.
void add_all_reduce(Builder& builder, std::int64_t place, std::int64_t size, Neighbours at,
                    Share share) {
  const auto [previous, next] = at;
  builder.loop(1, send(share.in(place - 1), next))
      .loop(size - 2, recv_reduce_send(previous, share.in(place - 2, -1), next))
      .loop(1, recv_reduce_store_send(previous, share.in(place), share.out(place), next).finish())
      .loop(size - 2, recv_store_send(previous, share.out(place - 1, -1), next))
      .loop(1, recv_store(previous, share.out(place + 1)));
}

}  // namespace

Program all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  Builder builder(rank, world, world, world);
  add_all_reduce(builder, rank, world, neighbours_of(rank), {});
  return builder.program();
}

// The second ring goes the other way round, so that both use every lane there is between
// neighbours.
Program two_rings_all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world <= 2) return all_reduce(rank, world);
  const std::int64_t r = rank;
  Builder builder(rank, world, 2 * world, 2 * world);
  add_all_reduce(builder, r, world, neighbours_of(r), {0, 2});
  builder.strand();
  add_all_reduce(builder, -r, world, {From{r + 1}, To{r - 1}}, {1, 2});
  return builder.program();
}

Program reduce_scatter(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const auto [previous, next] = neighbours_of(rank);
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, world, 1)
      .loop(1, send(In{r - 1}, next))
      .loop(n - 2, recv_reduce_send(previous, In{r - 2, -1}, next))
      .loop(1, recv_reduce_store(previous, In{r}, Out{0}).finish())
      .program();
}

Program all_gather(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  const auto [previous, next] = neighbours_of(rank);
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, 1, world)
      .loop(1, copy_send(In{0}, Out{r}, next))
      .loop(n - 2, recv_store_send(previous, Out{r - 1, -1}, next))
      .loop(1, recv_store(previous, Out{r + 1}))
      .program();
}

Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  const auto [previous, next] = neighbours_of(rank);
  const bool last = (rank + 1) % world == root;
  if (rank == root) return Builder(rank, world).loop(1, copy_send(In{0}, Out{0}, next)).program();
  if (last) return Builder(rank, world).loop(1, recv_store(previous, Out{0})).program();
  return Builder(rank, world).loop(1, recv_store_send(previous, Out{0}, next)).program();
}

Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const auto [previous, next] = neighbours_of(rank);
  const bool first = rank == (root + 1) % world;
  if (rank == root) {
    return Builder(rank, world)
        .loop(1, recv_reduce_store(previous, In{0}, Out{0}).finish())
        .program();
  }
  if (first) return Builder(rank, world).loop(1, send(In{0}, next)).program();
  return Builder(rank, world).loop(1, recv_reduce_send(previous, In{0}, next)).program();
}

}  // namespace gyre::ring
