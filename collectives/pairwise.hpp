// Pairwise schedules: chunks that differ per pair of ranks, each sent straight to where it belongs.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::pairwise {

// Round k exchanges with rank + k and rank - k. `world` chunks in and out; not in place.
Program all_to_all(std::uint32_t rank, std::uint32_t world);
// One chunk in on every rank, `world` out at the root. In place: input == output chunk `root`.
Program gather(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// `world` chunks in at the root, one out on every rank. In place: output == input chunk `root`.
Program scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t root);

// Single messages, for grouped sends and receives and for collectives with a count per rank, where
// every message has a length of its own. One chunk in or out.
Program send_to(std::uint32_t rank, std::uint32_t world, std::uint32_t peer);
Program receive_from(std::uint32_t rank, std::uint32_t world, std::uint32_t peer);
// Both of them as strands, to and from the next rank, for whoever puts other peers in their places.
Program send_and_receive(std::uint32_t rank, std::uint32_t world);
Program copy_self(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::pairwise
