// The compiled kernels, for the back-end that starts them.
#pragma once

#include <cstdint>

namespace gyre::device {

// The function of kernel number `kernel` (below kKernels), as the vendor's launch calls name it.
const void* kernel_function(std::uint32_t kernel);

}  // namespace gyre::device
