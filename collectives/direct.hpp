// Direct schedules: every rank talks to every other one, in the fewest hops there can be. Best for
// small messages and few ranks.
//
// All reductions here fold the contributions in rank order 0..n-1, in one place, whatever the size
// or the cut: they give the same bits on every path. Reproducible mode and averages use them.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::direct {

// One hop: everybody sends everything to everybody and folds for itself. One chunk in, one out.
// In place it must send copies: it overwrites its input while peers may still read it.
Program one_shot_all_reduce(std::uint32_t rank, std::uint32_t world);
// Two hops: reduce-scatter, then all-gather, pipelined over tiles. `world` chunks in and out.
Program two_shot_all_reduce(std::uint32_t rank, std::uint32_t world);
// `world` chunks in, one out. In place: output == input chunk `rank`.
Program reduce_scatter(std::uint32_t rank, std::uint32_t world);
// One chunk in, `world` out. In place: input == output chunk `rank`.
Program all_gather(std::uint32_t rank, std::uint32_t world);
// Everything is sent at once. `world` chunks in and out; not in place.
Program all_to_all(std::uint32_t rank, std::uint32_t world);
// One chunk in at the root, one out on every rank.
Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// One chunk in on every rank, one out at the root.
Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root);

}  // namespace gyre::direct
