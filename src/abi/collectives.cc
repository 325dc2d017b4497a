// The exported collectives, messages and groups: one line of meaning each.
#include <fmt/format.h>

#include <optional>

#include "abi/calls.hpp"
#include "abi/group.hpp"
#include "abi/handle.hpp"
#include "abi/report.hpp"
#include "base/settings.hpp"

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

GYRE_EXPORTS(ncclAllReduce);
ncclResult_t gyre_ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                ncclRedOp_t op, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclAllReduce", comm, stream,
                 {.kind = CallKind::all_reduce, .data = {send, recv, count, type}, .op = op});
}

GYRE_EXPORTS(ncclReduce);
ncclResult_t gyre_ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                             ncclRedOp_t op, int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform(
      "ncclReduce", comm, stream,
      {.kind = CallKind::reduce, .data = {send, recv, count, type}, .op = op, .root = root});
}

GYRE_EXPORTS(ncclBroadcast);
ncclResult_t gyre_ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                                int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclBroadcast", comm, stream,
                 {.kind = CallKind::broadcast, .data = {send, recv, count, type}, .root = root});
}

GYRE_EXPORTS(ncclBcast);
ncclResult_t gyre_ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return gyre_ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

GYRE_EXPORTS(ncclAllGather);
ncclResult_t gyre_ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                                ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclAllGather", comm, stream,
                 {.kind = CallKind::all_gather, .data = {send, recv, count, type}});
}

GYRE_EXPORTS(ncclReduceScatter);
ncclResult_t gyre_ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                                    ncclRedOp_t op, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclReduceScatter", comm, stream,
                 {.kind = CallKind::reduce_scatter, .data = {send, recv, count, type}, .op = op});
}

GYRE_EXPORTS(ncclAlltoAll);
ncclResult_t gyre_ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                               ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclAlltoAll", comm, stream,
                 {.kind = CallKind::all_to_all, .data = {send, recv, count, type}});
}

GYRE_EXPORTS(ncclGather);
ncclResult_t gyre_ncclGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                             int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclGather", comm, stream,
                 {.kind = CallKind::gather, .data = {send, recv, count, type}, .root = root});
}

GYRE_EXPORTS(ncclScatter);
ncclResult_t gyre_ncclScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclScatter", comm, stream,
                 {.kind = CallKind::scatter, .data = {send, recv, count, type}, .root = root});
}

GYRE_EXPORTS(ncclSend);
ncclResult_t gyre_ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer,
                           ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclSend", comm, stream,
                 {.kind = CallKind::send, .data = {buffer, nullptr, count, type}, .root = peer});
}

GYRE_EXPORTS(ncclRecv);
ncclResult_t gyre_ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer,
                           ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return perform("ncclRecv", comm, stream,
                 {.kind = CallKind::receive, .data = {nullptr, buffer, count, type}, .root = peer});
}

GYRE_EXPORTS(ncclGroupStart);
ncclResult_t gyre_ncclGroupStart() {
  return guarded("ncclGroupStart", []() -> Result<void> {
    group_start();
    return {};
  });
}

GYRE_EXPORTS(ncclGroupEnd);
ncclResult_t gyre_ncclGroupEnd() { return guarded("ncclGroupEnd", group_end); }

GYRE_EXPORTS(ncclGroupSimulateEnd);
ncclResult_t gyre_ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  return guarded("ncclGroupSimulateEnd", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const std::optional<double> seconds, group_simulate());
    if (info == nullptr) return Error{Status::invalid_argument, "simInfo is NULL"};
    const ncclSimInfo_t fresh = NCCL_SIM_INFO_INITIALIZER;
    if (info->magic != fresh.magic || info->size < sizeof fresh) {
      return Error{Status::invalid_argument,
                   "ncclSimInfo_t not initialized via NCCL_SIM_INFO_INITIALIZER"};
    }
    if (seconds) info->estimatedTime = static_cast<float>(*seconds * 1e6);
    return {};
  });
}

GYRE_EXPORTS(ncclRedOpCreatePreMulSum);
ncclResult_t gyre_ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                           ncclScalarResidence_t residence, ncclComm_t comm) {
  // From C it may be any number, which an enumeration of C++ cannot hold.
  const int place = residence;
  return guarded("ncclRedOpCreatePreMulSum", [&]() -> Result<void> {
    if (op == nullptr || scalar == nullptr) {
      return Error{Status::invalid_argument, "op or scalar is NULL"};
    }
    if (place != ncclScalarDevice && place != ncclScalarHostImmediate) {
      return Error{Status::invalid_argument, fmt::format("residence {} does not exist", place)};
    }
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    GYRE_TRY_ASSIGN(const DataType element, type_of(type));
    GYRE_TRY_ASSIGN(const int handle,
                    live->user_ops().create(scalar, element, place == ncclScalarDevice));
    *op = static_cast<ncclRedOp_t>(handle);
    return {};
  });
}

GYRE_EXPORTS(ncclRedOpDestroy);
ncclResult_t gyre_ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return guarded("ncclRedOpDestroy", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    return live->user_ops().destroy(static_cast<int>(op));
  });
}
