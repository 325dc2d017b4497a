#include "collectives/pairwise.hpp"

#include "schedule/builder.hpp"

namespace gyre::pairwise {

Program all_to_all(std::uint32_t rank, std::uint32_t world) {
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, world, world)
      .loop(1, copy(In{r}, Out{r}))
      .loop(n - 1, send(In{r + 1, 1}, To{r + 1, 1}), recv_store(From{r - 1, -1}, Out{r - 1, -1}))
      .program();
}

Program gather(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  const std::int64_t n = world;
  if (rank != root) return Builder(rank, world, 1, world).loop(1, send(In{0}, To{root})).program();
  return Builder(rank, world, 1, world)
      .loop(1, copy(In{0}, Out{root}))
      .loop(n - 1, recv_store(From{root + 1, 1}, Out{root + 1, 1}))
      .program();
}

Program scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t root) {
  const std::int64_t n = world;
  if (rank != root) {
    return Builder(rank, world, world, 1).loop(1, recv_store(From{root}, Out{0})).program();
  }
  return Builder(rank, world, world, 1)
      .loop(n - 1, send(In{root + 1, 1}, To{root + 1, 1}))
      .loop(1, copy(In{root}, Out{0}))
      .program();
}

Program send_to(std::uint32_t rank, std::uint32_t world, std::uint32_t peer) {
  return Builder(rank, world).loop(1, send(In{0}, To{peer})).program();
}

Program receive_from(std::uint32_t rank, std::uint32_t world, std::uint32_t peer) {
  return Builder(rank, world).loop(1, recv_store(From{peer}, Out{0})).program();
}

Program send_and_receive(std::uint32_t rank, std::uint32_t world) {
  const std::int64_t next = std::int64_t{rank} + 1;
  return Builder(rank, world)
      .loop(1, send(In{0}, To{next}))
      .strand()
      .loop(1, recv_store(From{next}, Out{0}))
      .program();
}

Program copy_self(std::uint32_t rank, std::uint32_t world) {
  return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
}

}  // namespace gyre::pairwise
