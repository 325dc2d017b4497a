// What an ncclComm_t points to: a small cell that outlives its communicator, so that a call with a
// destroyed handle is an error and not a crash.
#pragma once

#include <memory>
#include <utility>

#include "abi/export.hpp"
#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace gyre::abi {

// A new handle for `comm`.
ncclComm_t make_handle(std::shared_ptr<Communicator> comm);

// A use of a handle's communicator, which lives at least as long. The cheap form of a shared
// pointer: one atomic addition each to begin and to end it.
class Borrowed {
 public:
  Borrowed(ncclComm_t handle, Communicator* comm) : handle_(handle), comm_(comm) {}
  Borrowed(Borrowed&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), comm_(other.comm_) {}
  Borrowed& operator=(Borrowed&&) = delete;
  ~Borrowed();

  Communicator* operator->() const { return comm_; }
  Communicator& operator*() const { return *comm_; }
  // For whoever keeps the communicator longer.
  std::shared_ptr<Communicator> share() const;

 private:
  ncclComm_t handle_;
  Communicator* comm_;
};

// Begins a use. Errors as those of communicator_of().
Result<Borrowed> borrow(ncclComm_t handle);

// The communicator of a live handle. invalid_argument for NULL, a destroyed handle, or a pointer
// that is no handle (it must be readable).
Result<std::shared_ptr<Communicator>> communicator_of(ncclComm_t handle);

// Takes the communicator out; the handle is dead from now on. Errors as above.
Result<std::shared_ptr<Communicator>> retire_handle(ncclComm_t handle);

}  // namespace gyre::abi
