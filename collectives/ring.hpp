// Ring schedules: every rank talks to its two neighbours only, so each link carries the least
// possible bytes. Bandwidth-optimal for large messages; the steps grow with the world.
//
// Reductions are single-producer: every final chunk is computed on one rank and copied from there.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::ring {

// `world` chunks in, `world` chunks out.
Program all_reduce(std::uint32_t rank, std::uint32_t world);
// Two rings in opposite directions, a strand each: twice `world` chunks in and out (as one ring for
// two ranks, who have one neighbour only).
Program two_rings_all_reduce(std::uint32_t rank, std::uint32_t world);
// `world` chunks in, one out. In place: output == input chunk `rank`.
Program reduce_scatter(std::uint32_t rank, std::uint32_t world);
// One chunk in, `world` out. In place: input == output chunk `rank`.
Program all_gather(std::uint32_t rank, std::uint32_t world);
// The ring cut open before `root`: one chunk in at the root, one out on every rank.
Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// The ring cut open behind `root`: one chunk in on every rank, one out at the root.
Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root);

}  // namespace gyre::ring
