// Which transports there are.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace gyre {

// All transports by preference (direct, shm, socket), each hooked as GYRE_HOOK says. What the
// settings turn off (NCCL_P2P_DISABLE: direct; NCCL_SHM_DISABLE: shm) is still in the list and
// reaches nobody, so that all ranks exchange the same number of offers.
std::vector<std::unique_ptr<Transport>> make_transports(const TransportContext& context);

}  // namespace gyre
