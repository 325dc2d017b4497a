// The vendor's runtime under names of our own. Files named .cuh need a vendor's headers.
#pragma once

#if defined(GYRE_BACKEND_HIP)
#include "kernels/backend_hip/runtime.cuh"
#else
#include "kernels/backend_cuda/runtime.cuh"
#endif

namespace gyre::gpu {

// The null stream and the special handles 1 and 2 mean the same on both sides.
inline Stream native(gyreStream_t stream) { return reinterpret_cast<Stream>(stream); }
inline Event native(gyreEvent_t event) { return reinterpret_cast<Event>(event); }

}  // namespace gyre::gpu
