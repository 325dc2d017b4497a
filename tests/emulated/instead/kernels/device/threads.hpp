// Found before kernels/device/threads.hpp.
#pragma once

#include <cstdint>

namespace gyre::device {

// Two warps, so that there is another one to wait for, and few enough that switching between all of
// them costs little.
inline constexpr std::uint32_t kThreads = 64;

// Between two of them the block may have slept.
inline constexpr std::uint32_t kSpinsPerLook = 32;

}  // namespace gyre::device
