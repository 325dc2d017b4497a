#include "collectives/dissemination.hpp"

#include <bit>

#include "schedule/builder.hpp"

namespace gyre::dissemination {

Program barrier(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0})).program();
  return Builder(rank, world)
      .loop(doubling(std::bit_ceil(world)), send(In{0}, to_above(rank)),
            recv_store(from_below(rank), Out{0}))
      .program();
}

}  // namespace gyre::dissemination
