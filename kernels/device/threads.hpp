// How many threads a block has, and how patient they are. Alone in this file because those of the
// emulated device (tests/emulated) are fewer and slower: it puts a file of this name before it. So
// nothing that the host and the kernels share in memory may depend on it.
#pragma once

#include <cstdint>

namespace gyre::device {

inline constexpr std::uint32_t kThreads = 512;

// Whether a wait is of use is asked now and then: the flag that ends it lies in host memory, a
// microsecond away.
inline constexpr std::uint32_t kSpinsPerLook = 1024;

}  // namespace gyre::device
