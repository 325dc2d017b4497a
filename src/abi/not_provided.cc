// Functions that exist so that programs which name them start, and that say that they are not
// provided: one-sided operations, the device interface, and changes of a communicator's membership.
#include <fmt/format.h>

#include "abi/group.hpp"
#include "abi/handle.hpp"
#include "abi/report.hpp"

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

namespace {

ncclResult_t not_provided(std::string_view function, std::string_view instead) {
  return guarded(function, [&]() -> Result<void> {
    return noted(Error{Status::invalid_usage, fmt::format("not provided; {}", instead)});
  });
}

constexpr std::string_view kNewCommunicator = "make a new communicator of the ranks you want";
constexpr std::string_view kMessages = "use ncclSend and ncclRecv";
constexpr std::string_view kNoDeviceApi =
    "the device interface is not supported (ncclCommQueryProperties says so)";

}  // namespace

GYRE_EXPORTS(ncclCommShrink);
ncclResult_t gyre_ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int) {
  return not_provided("ncclCommShrink", kNewCommunicator);
}
GYRE_EXPORTS(ncclCommGrow);
ncclResult_t gyre_ncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*,
                               ncclConfig_t*) {
  return not_provided("ncclCommGrow", kNewCommunicator);
}
GYRE_EXPORTS(ncclCommGetUniqueId);
ncclResult_t gyre_ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*) {
  return not_provided("ncclCommGetUniqueId", "use ncclGetUniqueId");
}
GYRE_EXPORTS(ncclCommRevoke);
ncclResult_t gyre_ncclCommRevoke(ncclComm_t comm, int flags) {
  if (comm == nullptr && flags == NCCL_REVOKE_DEFAULT) return ncclSuccess;
  return not_provided("ncclCommRevoke", "use ncclCommAbort");
}
GYRE_EXPORTS(ncclCommSuspend);
ncclResult_t gyre_ncclCommSuspend(ncclComm_t, int) {
  return not_provided("ncclCommSuspend", "a host rank holds no device memory");
}
GYRE_EXPORTS(ncclCommResume);
ncclResult_t gyre_ncclCommResume(ncclComm_t) {
  return not_provided("ncclCommResume", "a host rank holds no device memory");
}
GYRE_EXPORTS(ncclCommMemStats);
ncclResult_t gyre_ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value) {
  const int which = stat;  // from C it may be any number
  return guarded("ncclCommMemStats", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    if (value == nullptr) return Error{Status::invalid_argument, "value is NULL"};
    if (which < ncclStatGpuMemSuspend || which > ncclStatGpuMemTotal) {
      return Error{Status::invalid_argument, fmt::format("statistic {} does not exist", which)};
    }
    *value = 0;  // a host rank holds no device memory
    return {};
  });
}

GYRE_EXPORTS(ncclPutSignal);
ncclResult_t gyre_ncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int,
                                int, unsigned int, ncclComm_t, GYRE_NCCL_STREAM) {
  return not_provided("ncclPutSignal", kMessages);
}
GYRE_EXPORTS(ncclSignal);
ncclResult_t gyre_ncclSignal(int, int, int, unsigned int, ncclComm_t, GYRE_NCCL_STREAM) {
  return not_provided("ncclSignal", kMessages);
}
GYRE_EXPORTS(ncclWaitSignal);
ncclResult_t gyre_ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, GYRE_NCCL_STREAM) {
  return not_provided("ncclWaitSignal", kMessages);
}
GYRE_EXPORTS(ncclWinGetUserPtr);
ncclResult_t gyre_ncclWinGetUserPtr(ncclComm_t, ncclWindow_t, void**) {
  return not_provided("ncclWinGetUserPtr", "windows are not supported");
}

GYRE_EXPORTS(ncclDevCommCreate);
ncclResult_t gyre_ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements_t*, ncclDevComm_t*) {
  return not_provided("ncclDevCommCreate", kNoDeviceApi);
}
GYRE_EXPORTS(ncclDevCommDestroy);
ncclResult_t gyre_ncclDevCommDestroy(ncclComm_t, const ncclDevComm_t*) {
  return not_provided("ncclDevCommDestroy", kNoDeviceApi);
}
GYRE_EXPORTS(ncclGetLsaMultimemDevicePointer);
ncclResult_t gyre_ncclGetLsaMultimemDevicePointer(ncclWindow_t, size_t, void**) {
  return not_provided("ncclGetLsaMultimemDevicePointer", kNoDeviceApi);
}
GYRE_EXPORTS(ncclGetMultimemDevicePointer);
ncclResult_t gyre_ncclGetMultimemDevicePointer(ncclWindow_t, size_t, ncclMultimemHandle_t, void**) {
  return not_provided("ncclGetMultimemDevicePointer", kNoDeviceApi);
}
GYRE_EXPORTS(ncclGetLsaDevicePointer);
ncclResult_t gyre_ncclGetLsaDevicePointer(ncclWindow_t, size_t, int, void**) {
  return not_provided("ncclGetLsaDevicePointer", kNoDeviceApi);
}
GYRE_EXPORTS(ncclGetPeerDevicePointer);
ncclResult_t gyre_ncclGetPeerDevicePointer(ncclWindow_t, size_t, int, void**) {
  return not_provided("ncclGetPeerDevicePointer", kNoDeviceApi);
}

GYRE_EXPORTS(ncclTeamWorld);
ncclTeam_t gyre_ncclTeamWorld(ncclComm_t comm) {
  const auto use = borrow(comm);
  return use ? ncclTeam_t{(*use)->world(), (*use)->rank(), 1} : ncclTeam_t{0, 0, 0};
}
// Without a device interface a rank shares device memory with itself alone.
GYRE_EXPORTS(ncclTeamLsa);
ncclTeam_t gyre_ncclTeamLsa(ncclComm_t) { return {1, 0, 1}; }
GYRE_EXPORTS(ncclTeamRail);
ncclTeam_t gyre_ncclTeamRail(ncclComm_t comm) { return gyre_ncclTeamWorld(comm); }
GYRE_EXPORTS(ncclTeamRankToWorld);
int gyre_ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return gyre_ncclTeamWorld(comm).rank + (rank - team.rank) * team.stride;
}
GYRE_EXPORTS(ncclTeamRankToLsa);
int gyre_ncclTeamRankToLsa(ncclComm_t, ncclTeam_t team, int rank) {
  return (rank - team.rank) * team.stride;
}

GYRE_EXPORTS(ncclLLA2ACalcSlots);
int gyre_ncclLLA2ACalcSlots(int, int) { return 0; }
GYRE_EXPORTS(ncclLLA2ACreateRequirement);
ncclResult_t gyre_ncclLLA2ACreateRequirement(int, int, ncclLLA2AHandle_t*,
                                             ncclDevResourceRequirements_t*) {
  return not_provided("ncclLLA2ACreateRequirement", kNoDeviceApi);
}
GYRE_EXPORTS(ncclLsaBarrierCreateRequirement);
ncclResult_t gyre_ncclLsaBarrierCreateRequirement(ncclTeam_t, int, ncclLsaBarrierHandle_t*,
                                                  ncclDevResourceRequirements_t*) {
  return not_provided("ncclLsaBarrierCreateRequirement", kNoDeviceApi);
}
GYRE_EXPORTS(ncclGinBarrierCreateRequirement);
ncclResult_t gyre_ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int,
                                                  ncclGinBarrierHandle_t*,
                                                  ncclDevResourceRequirements_t*) {
  return not_provided("ncclGinBarrierCreateRequirement", kNoDeviceApi);
}
