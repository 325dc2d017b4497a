// Schedules for hosts with the same number of consecutive ranks each. Links within a host are fast
// and many, links between hosts few: every rank exchanges with its own host directly, and shares of
// the work with the ranks at its place on the other hosts, so that all of them use the network.
//
// `ranks_per_host` divides the world. One rank per host, or one host, leaves one of the two levels.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::hierarchical {

// Reduce-scatter within the host, ring all-reduce of each share between hosts, all-gather within
// the host. `world` chunks in and out. Rounds once within the host, then once per hop.
Program all_reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host);
// The same with a tree between hosts, for many of them. A chunk per rank of a host in and out;
// rounds once within the host, then once per level.
Program tree_all_reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host);
// `world` chunks in, one out. In place: output == input chunk `rank`.
Program reduce_scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host);
// One chunk in, `world` out. In place: input == output chunk `rank`.
Program all_gather(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host);

// In two steps: what goes to another host goes together. `world` chunks in and out; not in place.
Program all_to_all(std::uint32_t rank, std::uint32_t world, std::uint32_t ranks_per_host);
// One chunk in on every rank, `world` out at the root. In place: input == output chunk `root`.
Program gather(std::uint32_t rank, std::uint32_t world, std::uint32_t root,
               std::uint32_t ranks_per_host);
// `world` chunks in at the root, one out on every rank. In place: output == input chunk `root`.
Program scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t root,
                std::uint32_t ranks_per_host);

}  // namespace gyre::hierarchical
