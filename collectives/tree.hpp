// Binary trees, in which every rank has at most two children, so that a long message flows through
// them tile by tile: logarithmic latency, and, with two trees that share the work, a rank's full
// bandwidth.
//
// The two trees are those of P. Sanders, J. Speck, J. L. Träff: Two-tree algorithms for full
// bandwidth broadcast, reduction and scan (2009): a rank that is a leaf of one is an inner node of
// the other. Reductions are single-producer, and round once per level.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::tree {

// One tree, one chunk in and out. One strand goes up, the other down.
Program all_reduce(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::tree

namespace gyre::double_tree {

// Two trees, each for one of the two chunks in and out.
Program all_reduce(std::uint32_t rank, std::uint32_t world);
// Two chunks in at the root, two out on every rank. The trees hold all ranks but the root.
Program broadcast(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
// Two chunks in on every rank, two out at the root.
Program reduce(std::uint32_t rank, std::uint32_t world, std::uint32_t root);

}  // namespace gyre::double_tree
