// Recursive doubling: in round k the partners are 2^k apart and exchange all they have. log2(n)
// rounds of whole messages: for those so small that only the rounds count.
//
// Of n ranks that are no power of two, those beyond the largest power first give their contribution
// to a partner and get the result from it, in two rounds more (R. Rabenseifner, J. L. Träff: More
// efficient reduction algorithms for non-power-of-two number of processors, EuroPVM/MPI 2004).
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::recursive_doubling {

// One chunk in and out, which must be sent as copies: partners still read what is overwritten.
//
// Every rank folds for itself, but two partners fold the same two operands, and no operation of the
// library depends on the order of two: all ranks of one kind end with the same bits.
Program all_reduce(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::recursive_doubling
