#include "collectives/recursive_doubling.hpp"

#include <bit>

#include "schedule/builder.hpp"

namespace gyre::recursive_doubling {
namespace {

// One exchange with the partner of each round.
Builder& exchange(Builder& builder, const RoundLoop& rounds, Operand sum, bool last) {
  const std::int64_t r = builder.rank();
  const Draft fold = recv_reduce_store(from_across(r), sum, Out{0});
  return builder.loop(rounds, send(sum, to_across(r)), last ? fold.finish() : fold);
}

}  // namespace

Program all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  const std::int64_t r = rank, n = world;
  const auto power = static_cast<std::int64_t>(std::bit_floor(world));
  const std::int64_t rounds = rounds_over(power);
  if (r >= power) {
    return Builder(rank, world)
        .loop(1, send(In{0}, To{r - power}), recv_store(From{r - power}, Out{0}))
        .program();
  }
  const bool has_guest = r + power < n;
  Builder builder(rank, world);
  if (has_guest) builder.loop(1, recv_reduce_store(From{r + power}, In{0}, Out{0}));
  const std::int64_t from_input = has_guest ? 0 : 1;
  exchange(builder, doubling(power, 0, rounds == 1 ? 0 : from_input), In{0}, false);
  exchange(builder, doubling(power, from_input, rounds - 1 - from_input), Out{0}, false);
  const Operand sum = rounds == 1 && !has_guest ? Operand(In{0}) : Operand(Out{0});
  exchange(builder, doubling(power, rounds - 1, 1), sum, true);
  if (has_guest) builder.loop(1, send(Out{0}, To{r + power}));
  return builder.program();
}

}  // namespace gyre::recursive_doubling
