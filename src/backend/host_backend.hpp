// The host as a back-end: plain memory, worker-thread streams, no kernels, no IPC.
#pragma once

#include "gyre/plugin.h"

namespace gyre {

const gyreBackend* host_backend();

}  // namespace gyre
