// NCCL_ALGO: the algorithms to choose from, by NCCL's names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "plan/algorithm.hpp"

namespace gyre {

// Algorithms by bit.
using AlgorithmSet = std::uint32_t;
constexpr AlgorithmSet bit_of(Algorithm algorithm) { return 1U << static_cast<int>(algorithm); }
inline constexpr AlgorithmSet kAllAlgorithms = (1U << kAlgorithms) - 1;

// By kind of call.
using AllowedAlgorithms = std::array<AlgorithmSet, kCallKinds>;

// Reads "[function:][^]name,name;...": for each function (all of them without a name; later entries
// win) the names allowed, or with ^ those excluded. Names and functions in any case. Ring means
// ring and two_rings, Tree the trees, PAT bruck; schedules that NCCL has no name for are allowed
// where nothing, or only an exclusion, is said. A list for all functions leaves alone those that
// have none of its names. invalid_usage: an unknown name, which the text quotes, or a list that
// leaves its function, or every function, none that Gyre has.
Result<AllowedAlgorithms> read_algorithm_list(std::string_view text);

}  // namespace gyre
