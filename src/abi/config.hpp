// Reading ncclConfig_t by NCCL's rules.
#pragma once

#include "abi/export.hpp"
#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace gyre::abi {

// The options of a new communicator. `config` may be NULL; fields beyond its size, or younger than
// its version, count as undefined. `inherited`: what undefined fields take instead of the defaults.
// NCCL_COMM_BLOCKING overrides `blocking`.
Result<CommOptions> read_config(const ncclConfig_t* config, const CommOptions& inherited);

}  // namespace gyre::abi
