// Making, splitting, asking and ending communicators.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "abi/config.hpp"
#include "abi/group.hpp"
#include "abi/handle.hpp"
#include "abi/report.hpp"
#include "backend/loader.hpp"
#include "base/settings.hpp"
#include "bootstrap/unique_id.hpp"
#include "comm/split.hpp"

namespace gyre::abi {
namespace {

// The structure of the first release that had it ends no earlier than this.
constexpr std::size_t kOldestProperties = offsetof(ncclCommProperties_t, cudaDev);

Result<void> null_argument(const char* name) {
  return Error{Status::invalid_argument, fmt::format("{} is NULL", name)};
}

UniqueId id_of(const ncclUniqueId& id) {
  UniqueId converted;
  static_assert(sizeof id == sizeof converted.bytes);
  std::memcpy(converted.bytes.data(), id.internal, sizeof id);
  return converted;
}

ncclUniqueId id_of(const UniqueId& id) {
  ncclUniqueId converted;
  std::memcpy(converted.internal, id.bytes.data(), sizeof converted);
  return converted;
}

// The calling thread's device, which the thread that opens the communicator has not; -1 if there is
// none to know of: the opening says why, if it matters.
int current_device() {
  const Result<const gyreBackend*> backend = wanted_backend();
  int ordinal = -1;
  if (!backend || (*backend)->kind == gyreDeviceHost) return ordinal;
  return (*backend)->device_current(&ordinal) == gyreSuccess ? ordinal : -1;
}

// The opening of one rank: a handle at once, the communicator behind it when it is done.
Result<void> init_rank(ncclComm_t* out, int world, const UniqueId& id, int rank,
                       const ncclConfig_t* config, int device = -1) {
  if (out == nullptr) return null_argument("comm");
  if (world < 1 || rank < 0 || rank >= world) {
    return Error{Status::invalid_argument,
                 fmt::format("rank {} of {} ranks: ranks are 0 to nranks - 1", rank, world)};
  }
  if (world > 0xffff) {
    return Error{Status::invalid_argument, fmt::format("{} ranks: at most 65535", world)};
  }
  GYRE_TRY_ASSIGN(CommOptions options, read_config(config, {}));
  options.device = device >= 0 ? device : current_device();
  if (rank == 0) log_version();
  auto comm = std::make_shared<Communicator>(rank, world, std::move(options));
  Opening opening;
  opening.comm = comm;
  opening.open = [raw = comm.get(), id] { return raw->open(id); };
  opening.refuse = [raw = comm.get(), id](const Error& error) {
    return raw->refuse_to_open(id, error);
  };
  // What was given out; the caller may have put something else there since.
  const auto given = std::make_shared<ncclComm_t>(nullptr);
  opening.deliver = [out, comm, given] {
    if (*given != nullptr) return;  // by a group, at once
    *out = *given = make_handle(comm);
  };
  opening.discard = [out, given] {
    if (*given == nullptr) return;
    (void)retire_handle(*given);
    if (*out == *given) *out = nullptr;
    *given = nullptr;
  };
  *out = nullptr;
  return submit(std::move(opening));
}

Result<void> init_all(ncclComm_t* comms, int count, const int* devices) {
  if (comms == nullptr) return null_argument("comm");
  if (count < 1) {
    return Error{Status::invalid_argument, fmt::format("{} devices: at least one", count)};
  }
  for (int i = 0; devices != nullptr && i < count; ++i) {
    // A host rank's device number is only a label, and several ranks may share a device.
    if (devices[i] < 0) {
      return Error{Status::invalid_argument, fmt::format("device {} does not exist", devices[i])};
    }
  }
  if (count > 0xffff) {
    return Error{Status::invalid_argument, fmt::format("{} ranks: at most 65535", count)};
  }
  GYRE_TRY_ASSIGN(const UniqueId id, create_unique_id());
  group_start();
  Result<void> result;
  for (int rank = 0; rank < count && result; ++rank) {
    const int device = devices != nullptr ? devices[rank] : rank;
    result = init_rank(comms + rank, count, id, rank, nullptr, device);
  }
  if (!result) group_note(result.error());
  Result<void> ended = group_end();
  return result ? std::move(ended) : std::move(result);
}

Result<void> split(Communicator& parent, int color, int key, ncclComm_t* out,
                   const ncclConfig_t* config) {
  if (out == nullptr) return null_argument("newcomm");
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return Error{Status::invalid_argument,
                 fmt::format("color {}: colors are >= 0, or NCCL_SPLIT_NOCOLOR", color)};
  }
  GYRE_TRY(parent.usable());
  GYRE_TRY_ASSIGN(const CommOptions options, read_config(config, parent.options()));
  *out = nullptr;
  auto self = parent.shared_from_this();
  // Runs when all ranks split: the new communicator exists only once its size is known.
  const auto make_child = [self, color, key, out, options]() -> Result<void> {
    GYRE_TRY_ASSIGN(const SplitPlan plan, plan_split(*self, color, key));
    if (plan.members.empty()) return {};
    auto child =
        std::make_shared<Communicator>(plan.rank, static_cast<int>(plan.members.size()), options);
    GYRE_TRY(self->derive(child, plan.members, plan.key));
    *out = make_handle(std::move(child));
    return {};
  };
  const auto run = [self, make_child] { return self->while_open(make_child); };
  return submit_derivation({self, run});
}

}  // namespace
}  // namespace gyre::abi

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

GYRE_EXPORTS(ncclGetUniqueId);
ncclResult_t gyre_ncclGetUniqueId(ncclUniqueId* id) {
  return guarded("ncclGetUniqueId", [&]() -> Result<void> {
    if (id == nullptr) return null_argument("uniqueId");
    if (!settings()) return settings().error();
    const std::string& fixed = settings()->comm_id;
    GYRE_TRY_ASSIGN(const UniqueId made, fixed.empty() ? create_unique_id() : unique_id_for(fixed));
    *id = id_of(made);
    return {};
  });
}

GYRE_EXPORTS(ncclCommInitRank);
ncclResult_t gyre_ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  return guarded("ncclCommInitRank",
                 [&] { return noted(init_rank(comm, nranks, id_of(id), rank, nullptr)); });
}

GYRE_EXPORTS(ncclCommInitRankConfig);
ncclResult_t gyre_ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                         ncclConfig_t* config) {
  return guarded("ncclCommInitRankConfig",
                 [&] { return noted(init_rank(comm, nranks, id_of(id), rank, config)); });
}

GYRE_EXPORTS(ncclCommInitRankScalable);
ncclResult_t gyre_ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int ids,
                                           ncclUniqueId* id, ncclConfig_t* config) {
  return guarded("ncclCommInitRankScalable", [&]() -> Result<void> {
    if (id == nullptr) return noted(null_argument("commIds"));
    if (ids < 1 || ids > nranks) {
      return noted(Error{Status::invalid_argument,
                         fmt::format("{} ids for {} ranks: 1 to nranks", ids, nranks)});
    }
    // One rendezvous serves all ranks; further ids are spare.
    return noted(init_rank(comm, nranks, id_of(id[0]), rank, config));
  });
}

GYRE_EXPORTS(ncclCommInitAll);
ncclResult_t gyre_ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  return guarded("ncclCommInitAll", [&] { return noted(init_all(comms, count, devices)); });
}

GYRE_EXPORTS(ncclCommSplit);
ncclResult_t gyre_ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                                ncclConfig_t* config) {
  return guarded("ncclCommSplit", [&]() -> Result<void> {
    auto parent = communicator_of(comm);
    if (!parent) return noted(std::move(parent).error());
    return noted(split(**parent, color, key, newcomm, config));
  });
}

GYRE_EXPORTS(ncclCommFinalize);
ncclResult_t gyre_ncclCommFinalize(ncclComm_t comm) {
  return guarded("ncclCommFinalize", [&]() -> Result<void> {
    if (comm == nullptr) return {};
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    return live->finalize();
  });
}

GYRE_EXPORTS(ncclCommDestroy);
ncclResult_t gyre_ncclCommDestroy(ncclComm_t comm) {
  return guarded("ncclCommDestroy", [&]() -> Result<void> {
    if (comm == nullptr) return {};
    GYRE_TRY_ASSIGN(const auto live, retire_handle(comm));
    live->close(/*abort=*/false);
    return {};
  });
}

GYRE_EXPORTS(ncclCommAbort);
ncclResult_t gyre_ncclCommAbort(ncclComm_t comm) {
  return guarded("ncclCommAbort", [&]() -> Result<void> {
    if (comm == nullptr) return {};
    GYRE_TRY_ASSIGN(const auto live, retire_handle(comm));
    live->close(/*abort=*/true);
    return {};
  });
}

GYRE_EXPORTS(ncclCommGetAsyncError);
ncclResult_t gyre_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return guarded("ncclCommGetAsyncError", [&]() -> Result<void> {
    if (error == nullptr) return null_argument("asyncError");
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    const auto state = live->async_error();
    *error = state ? code_of(state->status) : ncclSuccess;
    // Of a call that was only enqueued nothing else tells why it failed.
    if (state && state->status != Status::in_progress) keep("ncclCommGetAsyncError", *state);
    return {};
  });
}

GYRE_EXPORTS(ncclCommCount);
ncclResult_t gyre_ncclCommCount(const ncclComm_t comm, int* count) {
  return guarded("ncclCommCount", [&]() -> Result<void> {
    if (count == nullptr) return null_argument("count");
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    *count = live->world();
    return {};
  });
}

GYRE_EXPORTS(ncclCommUserRank);
ncclResult_t gyre_ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return guarded("ncclCommUserRank", [&]() -> Result<void> {
    if (rank == nullptr) return null_argument("rank");
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    *rank = live->rank();
    return {};
  });
}

GYRE_EXPORTS(ncclCommCuDevice);
ncclResult_t gyre_ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return guarded("ncclCommCuDevice", [&]() -> Result<void> {
    if (device == nullptr) return null_argument("device");
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    *device = live->device();
    return {};
  });
}

GYRE_EXPORTS(ncclCommQueryProperties);
ncclResult_t gyre_ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties) {
  return guarded("ncclCommQueryProperties", [&]() -> Result<void> {
    if (properties == nullptr) return null_argument("props");
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    if (properties->magic != NCCL_API_MAGIC || properties->size < kOldestProperties) {
      return Error{Status::invalid_argument,
                   "ncclCommProperties_t not initialized via NCCL_COMM_PROPERTIES_INITIALIZER"};
    }
    ncclCommProperties_t filled{};
    filled.size = properties->size;
    filled.magic = properties->magic;
    filled.version = properties->version;
    filled.rank = live->rank();
    filled.nRanks = live->world();
    filled.cudaDev = filled.nvmlDev = live->device();
    filled.ginType = NCCL_GIN_TYPE_NONE;
    filled.railedGinType = NCCL_GIN_TYPE_NONE;
    // An older caller's structure ends earlier.
    std::memcpy(properties, &filled, std::min(properties->size, sizeof filled));
    return {};
  });
}
