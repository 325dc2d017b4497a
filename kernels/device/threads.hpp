// How many threads a block has. Alone in this file because the emulated device (tests/emulated) has
// fewer: it puts a file of this name before it. So nothing that the host and the kernels share in
// memory may depend on it.
#pragma once

#include <cstdint>

namespace gyre::device {

inline constexpr std::uint32_t kThreads = 512;

}  // namespace gyre::device
