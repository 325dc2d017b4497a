#include "collectives/halving_doubling.hpp"

#include <bit>

#include "schedule/builder.hpp"

// Chunks are counted from the own one on: near are those that the rank keeps, far those it sends.
namespace gyre::halving_doubling {

// Of an odd world the middle chunk is neither sent nor received in the first round.
Program all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const std::int64_t r = rank, n = world, last = rounds_over(n) - 1;
  const Operand given = near(In{r}), sum = near(Out{r});
  const Draft fold = recv_reduce_store(from_below(r), sum, near(Out{r}));
  const Draft fold_given = recv_reduce_store(from_below(r), given, near(Out{r}));
  Builder builder(rank, world, world, world);
  if (n == 2) {
    builder.loop(halving(n), send(far(In{r}), to_above(r)), fold_given.finish());
  } else {
    builder.loop(n % 2, copy(In{r + n / 2}, Out{r + n / 2}))
        .loop(halving(n, 0, 1), send(far(In{r}), to_above(r)), fold_given)
        .loop(halving(n, 1, last - 1), send(far(Out{r}), to_above(r)), fold)
        .loop(halving(n, last, 1), send(far(Out{r}), to_above(r)), fold.finish());
  }
  return builder
      .loop(doubling(n), send(near(Out{r}), to_below(r)), recv_store(from_above(r), far(Out{r})))
      .program();
}

Program reduce_scatter(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const std::int64_t r = rank, n = world, last = rounds_over(n) - 1;
  Builder builder(rank, world, world, 1);
  if (n == 2) {
    return builder
        .loop(1, send(In{r + 1}, To{r + 1}), recv_reduce_store(From{r + 1}, In{r}, Out{0}).finish())
        .program();
  }
  const From below = from_below(r);
  const Draft pass_on = send(far(Scratch{0}), to_above(r));
  return builder.scratch((world + 1) / 2)
      .loop(n % 2, copy(In{r + n / 2}, Scratch{n / 2}))
      .loop(halving(n, 0, 1), send(far(In{r}), to_above(r)),
            recv_reduce_store(below, near(In{r}), near(Scratch{0})))
      .loop(halving(n, 1, last - 1), pass_on,
            recv_reduce_store(below, near(Scratch{0}), near(Scratch{0})))
      .loop(halving(n, last, 1), pass_on,
            recv_reduce_store(below, near(Scratch{0}), near(Out{0})).finish())
      .program();
}

Program all_gather(std::uint32_t rank, std::uint32_t world) {
  const std::int64_t r = rank, n = world;
  return Builder(rank, world, 1, world)
      .loop(1, copy(In{0}, Out{r}))
      .loop(doubling(n), send(near(Out{r}), to_below(r)), recv_store(from_above(r), far(Out{r})))
      .program();
}

}  // namespace gyre::halving_doubling

namespace gyre::bruck {

// The first round sends what lies beyond the largest power of two below the world.
Program reduce_scatter(std::uint32_t rank, std::uint32_t world) {
  if (world <= 2) return halving_doubling::reduce_scatter(rank, world);
  const std::int64_t r = rank, n = world;
  const auto power = static_cast<std::int64_t>(std::bit_ceil(world)), half = power / 2;
  const std::int64_t last = rounds_over(power) - 1;
  const auto beyond = static_cast<std::uint32_t>(n - half);
  const auto between = static_cast<std::uint32_t>(power - n);
  const From below = from_below(r);
  const Draft pass_on = send(far(Scratch{0}), to_above(r));
  return Builder(rank, world, world, 1)
      .scratch(static_cast<std::uint32_t>(half))
      .loop(between == 0 ? 0 : 1, copy(In{r + beyond, 0, between}, Scratch{beyond, 0, between}))
      .loop(1, send(In{r + half, 0, beyond}, To{r + half}),
            recv_reduce_store(From{r - half}, In{r, 0, beyond}, Scratch{0, 0, beyond}))
      .loop(halving(power, 1, last - 1), pass_on,
            recv_reduce_store(below, near(Scratch{0}), near(Scratch{0})))
      .loop(halving(power, last, 1), pass_on,
            recv_reduce_store(below, near(Scratch{0}), near(Out{0})).finish())
      .program();
}

Program all_gather(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  const std::int64_t r = rank, n = world;
  const auto power = static_cast<std::int64_t>(std::bit_ceil(world)), half = power / 2;
  const auto beyond = static_cast<std::uint32_t>(n - half);
  return Builder(rank, world, 1, world)
      .loop(1, copy(In{0}, Out{r}))
      .loop(doubling(power, 0, rounds_over(power) - 1), send(near(Out{r}), to_below(r)),
            recv_store(from_above(r), far(Out{r})))
      .loop(1, send(Out{r, 0, beyond}, To{r - half}),
            recv_store(From{r + half}, Out{r + half, 0, beyond}))
      .program();
}

}  // namespace gyre::bruck
