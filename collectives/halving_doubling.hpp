// Recursive halving and doubling for any number of ranks: ceil(log2 n) rounds, each of one message
// of many chunks, and as few bytes as a ring. For medium messages, where both count.
//
// The ranks stand on a circle. A reduce-scatter's round halves the span of chunks, rounding up,
// that a rank still works on, and sends the far part to the rank that far ahead; an all-gather is
// the same backwards (J. L. Träff: Optimal, non-pipelined reduce-scatter and allreduce algorithms,
// 2024). For powers of two this moves what the textbook's butterfly does.
//
// Bruck's distances are powers of two but for the last round (J. Bruck et al.: Efficient algorithms
// for all-to-all communications in multiport message-passing systems, 1997). With one rank per host
// these take the place of tree-wise aggregation.
//
// Reductions are single-producer: chunk c is complete at rank c. Every round rounds once.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::halving_doubling {

// `world` chunks in and out.
Program all_reduce(std::uint32_t rank, std::uint32_t world);
// `world` chunks in, one out. In place: output == input chunk `rank`.
Program reduce_scatter(std::uint32_t rank, std::uint32_t world);
// One chunk in, `world` out. In place: input == output chunk `rank`.
Program all_gather(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::halving_doubling

namespace gyre::bruck {

// The same promises.
Program reduce_scatter(std::uint32_t rank, std::uint32_t world);
Program all_gather(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::bruck
