// The 128 bytes by which the ranks of a communicator find each other (an ncclUniqueId).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/job_key.hpp"

namespace gyre {

struct UniqueId {
  std::array<std::byte, 128> bytes{};

  bool operator==(const UniqueId&) const = default;
};
static_assert(std::is_trivially_copyable_v<UniqueId> && sizeof(UniqueId) == 128);

// What an id says.
struct IdContents {
  JobKey key;
  Endpoint root;            // where the rendezvous is
  bool fixed_port = false;  // rank 0 listens there itself; otherwise the id's creator does

  bool operator==(const IdContents&) const = default;
};

// Keeps as many of the root's addresses as fit, in order (loopback always).
UniqueId encode(const IdContents& contents);
// Bounded; invalid_argument for bytes that are no id of this version (all zeros, say).
Result<IdContents> decode(const UniqueId& id);

// A new id whose rendezvous is served by this process, on the reactor, until it completed or
// failed. Needs no other call in this process. Any thread.
Result<UniqueId> create_unique_id();

// The id that every process derives from the same "host:port" (NCCL_COMM_ID, tcp://) and the same
// job name; rank 0 then serves the rendezvous at that port. Looks the host up, until the deadline
// if it is not known yet (GYRE_INIT_TIMEOUT where there is none).
Result<UniqueId> unique_id_for(std::string_view host_port);
Result<UniqueId> unique_id_for(std::string_view host_port, Deadline deadline,
                               const AbortState* abort);

// The launcher's name of this run, e.g. "slurm 123.0", or "" if there is none. GYRE_JOB_ID comes
// first; then the launcher that gave the rank: torchrun, Open MPI or MPICH, Slurm.
std::string launcher_job_name();

}  // namespace gyre
