// Calls with data whose result is looked at.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <istream>
#include <string>

#include "tests/fault/outcome.hpp"

namespace gyre::test {

// Until a non-blocking communicator is done; its state.
Outcome settle(ncclComm_t comm);

// One all-reduce whose result is looked at.
Outcome all_reduce(ncclComm_t comm, std::size_t count);
// Every rank sends to the next and receives from the one before.
Outcome pass_on(ncclComm_t comm, int rank, int world, std::size_t count);

struct CallWords {
  std::string collective;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;
};

// COLLECTIVE COUNT TYPE OPERATION ROOT
CallWords parse_call(std::istream& words);
// Any collective, over zeros; one that fails must not have written a byte.
Outcome call_untouched(ncclComm_t comm, const CallWords& call, int world);

}  // namespace gyre::test
