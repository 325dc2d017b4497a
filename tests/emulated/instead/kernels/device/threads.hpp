// Found before kernels/device/threads.hpp: two warps, so that there is another one to wait for, and
// few enough that switching between all of them costs little.
#pragma once

#include <cstdint>

namespace gyre::device {

inline constexpr std::uint32_t kThreads = 64;

}  // namespace gyre::device
