// What an ncclComm_t points to: a small cell that outlives its communicator, so that a call with a
// destroyed handle is an error and not a crash.
#pragma once

#include <memory>
#include <mutex>

#include "abi/export.hpp"
#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace gyre::abi {

// A new handle for `comm`.
ncclComm_t make_handle(std::shared_ptr<Communicator> comm);

// The communicator of a live handle. invalid_argument for NULL, a destroyed handle, or a pointer
// that is no handle (it must be readable).
Result<std::shared_ptr<Communicator>> communicator_of(ncclComm_t handle);

// Takes the communicator out; the handle is dead from now on. Errors as above.
Result<std::shared_ptr<Communicator>> retire_handle(ncclComm_t handle);

}  // namespace gyre::abi
