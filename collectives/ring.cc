#include "collectives/ring.hpp"

#include "schedule/builder.hpp"

namespace gyre::ring {
namespace {

struct Neighbours {
  From previous;
  To next;
};

Neighbours neighbours_of(std::int64_t rank) { return {From{rank - 1}, To{rank + 1}}; }

}  // namespace

// Chunk c starts at rank c + 1, gathers one contribution per hop, is complete when it reaches rank
// c, and goes round once more.
Program all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const auto [previous, next] = neighbours_of(rank);
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, world, world)
      .loop(1, send(In{r - 1}, next))
      .loop(n - 2, recv_reduce_send(previous, In{r - 2, -1}, next))
      .loop(1, recv_reduce_store_send(previous, In{r}, Out{r}, next).finish())
      .loop(n - 2, recv_store_send(previous, Out{r - 1, -1}, next))
      .loop(1, recv_store(previous, Out{r + 1}))
      .program();
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
