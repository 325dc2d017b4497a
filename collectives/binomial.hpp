// Binomial trees: log2(n) rounds, one message per rank and direction. For small messages with a
// root. Ranks are counted from the root on; the parent of a rank is that with its lowest bit
// cleared.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::binomial {

// One chunk in at the root, one out on every rank.
Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// One chunk in on every rank, one out at the root. A rank rounds once per child.
Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// One chunk in on every rank, `world` out at the root. In place: input == output chunk `root`.
Program gather(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// `world` chunks in at the root, one out on every rank. In place: output == input chunk `root`.
Program scatter(std::uint32_t rank, std::uint32_t world, std::uint32_t root);

}  // namespace gyre::binomial
