#include "abi/handle.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

// The type that nccl_api.h declares. A cell is never freed, so that any handle ever given out may
// be looked at.
//
// Uses come and go while the cell is live; retiring it lets no new one in. Whoever ends the last
// use of a retired cell (the one who retired it, at the earliest) frees the communicator. Uses of
// stale handles come and go at any time, and find the cell not live.
struct ncclComm {
  static constexpr std::uint64_t kMagic = 0x67797265'636f6d6dULL;  // "gyrecomm"
  static constexpr std::uint64_t kRetired = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kEmpty = std::uint64_t{1} << 63;
  const std::uint64_t magic = kMagic;
  std::atomic<std::uint64_t> state{kEmpty};  // the uses, and how far its life is
  std::shared_ptr<gyre::Communicator> comm;  // changes only between kRetired without uses and live
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

// acq_rel: what this use did to the communicator comes before its end.
void end_use(ncclComm* cell) {
  if (cell->state.fetch_sub(1, std::memory_order_acq_rel) != (ncclComm::kRetired | 1)) return;
  std::uint64_t unused = ncclComm::kRetired;
  if (!cell->state.compare_exchange_strong(unused, ncclComm::kEmpty)) return;  // somebody else's
  cell->comm.reset();
  Pool& cells = pool();
  const std::lock_guard lock(cells.mutex);
  cells.retired.push_back(cell);
}

ncclComm* spare_cell() {
  Pool& cells = pool();
  const std::lock_guard lock(cells.mutex);
  if (cells.retired.size() <= kQuarantine) return nullptr;
  ncclComm* const cell = cells.retired.front();
  cells.retired.pop_front();
  return cell;
}

}  // namespace

Borrowed::~Borrowed() {
  if (handle_ != nullptr) end_use(handle_);
}

std::shared_ptr<Communicator> Borrowed::share() const { return handle_->comm; }

ncclComm_t make_handle(std::shared_ptr<Communicator> comm) {
  ncclComm* cell = spare_cell();
  if (cell == nullptr) cell = new ncclComm;
  cell->comm = std::move(comm);
  cell->state.fetch_and(~ncclComm::kEmpty, std::memory_order_release);
  return cell;
}

Result<Borrowed> borrow(ncclComm_t handle) {
  if (handle == nullptr) return no_communicator("the communicator is NULL");
  if (handle->magic != ncclComm::kMagic) {
    return no_communicator("the communicator is not one of this library (corrupt handle?)");
  }
  const std::uint64_t before = handle->state.fetch_add(1, std::memory_order_acquire);
  if ((before & (ncclComm::kRetired | ncclComm::kEmpty)) != 0) {
    end_use(handle);
    return no_communicator("the communicator was destroyed");
  }
  return Borrowed(handle, handle->comm.get());
}

Result<std::shared_ptr<Communicator>> communicator_of(ncclComm_t handle) {
  GYRE_TRY_ASSIGN(const Borrowed use, borrow(handle));
  return use.share();
}

Result<std::shared_ptr<Communicator>> retire_handle(ncclComm_t handle) {
  GYRE_TRY_ASSIGN(const Borrowed use, borrow(handle));
  const std::uint64_t before =
      handle->state.fetch_or(ncclComm::kRetired, std::memory_order_acq_rel);
  if ((before & ncclComm::kRetired) != 0) return no_communicator("the communicator was destroyed");
  return use.share();
}

}  // namespace gyre::abi
