#include "collectives/star.hpp"

#include "schedule/builder.hpp"

namespace gyre::star {

Program all_reduce(std::uint32_t rank, std::uint32_t world) {
  if (world == 1) return Builder(rank, world).loop(1, copy(In{0}, Out{0}).finish()).program();
  if (rank != 0) {
    return Builder(rank, world).loop(1, send(In{0}, To{0}), recv_store(From{0}, Out{0})).program();
  }
  return Builder(rank, world)
      .loop(
          1,
          recv_reduce_store_send(from_everyone(world), In{0}, Out{0}, to_everyone(world)).finish())
      .program();
}

}  // namespace gyre::star
