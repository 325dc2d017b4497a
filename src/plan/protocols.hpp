// NCCL_PROTO and NCCL_MIN/MAX_NCHANNELS: what is made of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "plan/algorithm_list.hpp"

namespace gyre {

// Whether small calls of a kind may take the form whose lines carry data and flag together, which
// is what LL is: of host ranks all-reduces have it, of devices every kind. Everything else is
// Simple, whether it is in the list or not. invalid_usage: an unknown name, or a list that leaves
// all-reduce neither of the two.
using ShortForms = std::array<bool, kCallKinds>;
Result<ShortForms> read_short_forms(std::string_view text);

// Rings of host ranks take one channel (ring) or two (two_rings): leaves all-reduce those that lie
// within the limits, or whatever comes next to them.
void limit_channels(std::int64_t least, std::int64_t most, AllowedAlgorithms& allowed);

}  // namespace gyre
