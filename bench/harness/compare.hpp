// Counts the elements that are not what they should be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl.h"

namespace gyre::bench {

// Elements of `got` that differ from `want`: bit for bit, or for averages of floats by more than 2
// units in the last place.
std::int64_t count_wrong(const void* got, const void* want, std::size_t count, ncclDataType_t type,
                         int op);

}  // namespace gyre::bench
