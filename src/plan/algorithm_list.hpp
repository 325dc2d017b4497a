// NCCL_ALGO: the algorithms to choose from, by NCCL's names.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "schedule/call.hpp"

namespace gyre {

constexpr std::uint32_t bit_of(CallKind kind) { return 1U << static_cast<int>(kind); }

// Reads "[function:][^]name,name;...": for each function (all of them without a name; later entries
// win) the names allowed, or with ^ those excluded. Names and functions in any case. Returns the
// kinds, by bit, that are left with nothing but a ring. invalid_usage: an unknown name, which the
// text quotes, or a list that leaves a function no algorithm of Gyre's.
Result<std::uint32_t> read_algorithm_list(std::string_view text);

}  // namespace gyre
