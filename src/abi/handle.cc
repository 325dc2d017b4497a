#include "abi/handle.hpp"

#include <cstdint>
#include <deque>
#include <utility>

// The type that nccl_api.h declares.
struct ncclComm {
  static constexpr std::uint64_t kLive = 0x67797265'636f6d6dULL;     // "gyrecomm"
  static constexpr std::uint64_t kRetired = 0x67797265'64656164ULL;  // "gyredead"
  std::uint64_t magic = kLive;
  std::mutex mutex;  // guards comm, and magic after construction
  std::shared_ptr<gyre::Communicator> comm;
};

namespace gyre::abi {
namespace {

// Retired cells are used again, but late: a stale handle stays recognisable for this many others.
constexpr std::size_t kQuarantine = 1024;

struct Pool {
  std::mutex mutex;
  std::deque<ncclComm*> retired;
};

Pool& pool() {
  static Pool* const instance = new Pool;  // outlives every static destructor
  return *instance;
}

Error no_communicator(const char* what) { return {Status::invalid_argument, what}; }

}  // namespace

ncclComm_t make_handle(std::shared_ptr<Communicator> comm) {
  ncclComm* cell = nullptr;
  {
    Pool& cells = pool();
    const std::lock_guard lock(cells.mutex);
    if (cells.retired.size() > kQuarantine) {
      cell = cells.retired.front();
      cells.retired.pop_front();
    }
  }
  if (cell == nullptr) cell = new ncclComm;
  const std::lock_guard lock(cell->mutex);
  cell->comm = std::move(comm);
  cell->magic = ncclComm::kLive;
  return cell;
}

Result<std::shared_ptr<Communicator>> communicator_of(ncclComm_t handle) {
  if (handle == nullptr) return no_communicator("the communicator is NULL");
  if (handle->magic != ncclComm::kLive && handle->magic != ncclComm::kRetired) {
    return no_communicator("the communicator is not one of this library (corrupt handle?)");
  }
  const std::lock_guard lock(handle->mutex);
  if (handle->magic != ncclComm::kLive || handle->comm == nullptr) {
    return no_communicator("the communicator was destroyed");
  }
  return handle->comm;
}

Result<std::shared_ptr<Communicator>> retire_handle(ncclComm_t handle) {
  GYRE_TRY_ASSIGN(auto comm, communicator_of(handle));
  {
    const std::lock_guard lock(handle->mutex);
    if (handle->comm != comm) return no_communicator("the communicator was destroyed");
    handle->comm.reset();
    handle->magic = ncclComm::kRetired;
  }
  Pool& cells = pool();
  const std::lock_guard lock(cells.mutex);
  cells.retired.push_back(handle);
  return comm;
}

}  // namespace gyre::abi
