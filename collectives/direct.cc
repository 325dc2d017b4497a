#include "collectives/direct.hpp"

#include "schedule/builder.hpp"

namespace gyre::direct {

Program one_shot_all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  return Builder(rank, world)
      .loop(1, send(In{0}, to_everyone(world)),
            recv_reduce_store(from_everyone(world), In{0}, Out{0}).finish())
      .program();
}

// The lags let a rank send tile t + 1 while it waits for tile t. Both ends of a lane see the same
// order: contribution of tile t + 1, then result of tile t.
Program two_shot_all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, world, world)
      .lagged_loop(n - 1, 0, send(In{r + 1, 1}, To{r + 1, 1}).offering(Out{r + 1, 1}))
      .lagged_loop(
          1, 1,
          recv_reduce_store_send(from_everyone(world), In{r}, Out{r}, to_everyone(world)).finish())
      .lagged_loop(n - 1, 2, recv_store(From{r + 1, 1}, Out{r + 1, 1}))
      .program();
}

Program reduce_scatter(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, world, 1)
      .lagged_loop(n - 1, 0, send(In{r + 1, 1}, To{r + 1, 1}))
      .lagged_loop(1, 1, recv_reduce_store(from_everyone(world), In{r}, Out{0}).finish())
      .program();
}

Program all_gather(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, 1, world)
      .loop(1, copy_send(In{0}, Out{r}, to_everyone(world)))
      .loop(n - 1, recv_store(From{r + 1, 1}, Out{r + 1, 1}))
      .program();
}

Program all_to_all(std::uint32_t rank, std::uint32_t world) {
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, world, world)
      .loop(n - 1, send(In{r + 1, 1}, To{r + 1, 1}))
      .loop(1, copy(In{r}, Out{r}))
      .loop(n - 1, recv_store(From{r - 1, -1}, Out{r - 1, -1}))
      .program();
}

Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  if (rank != root) return Builder(rank, world).loop(1, recv_store(From{root}, Out{0})).program();
  return Builder(rank, world).loop(1, copy_send(In{0}, Out{0}, to_everyone(world))).program();
}

Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  if (rank != root) return Builder(rank, world).loop(1, send(In{0}, To{root})).program();
  return Builder(rank, world)
      .loop(1, recv_reduce_store(from_everyone(world), In{0}, Out{0}).finish())
      .program();
}

}  // namespace gyre::direct
