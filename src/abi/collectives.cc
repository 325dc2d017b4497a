// The exported collectives, messages and groups: one line of meaning each.
#include <fmt/format.h>

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
  return guarded("ncclAllReduce", [&] {
    return call(comm,
                {.kind = CallKind::all_reduce,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .type = type,
                 .op = op},
                stream);
  });
}

GYRE_EXPORTS(ncclReduce);
ncclResult_t gyre_ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                             ncclRedOp_t op, int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclReduce", [&] {
    return call(comm,
                {.kind = CallKind::reduce,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .type = type,
                 .op = op,
                 .root = root},
                stream);
  });
}

GYRE_EXPORTS(ncclBroadcast);
ncclResult_t gyre_ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                                int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclBroadcast", [&] {
    return call(comm,
                {.kind = CallKind::broadcast,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .type = type,
                 .root = root},
                stream);
  });
}

GYRE_EXPORTS(ncclBcast);
ncclResult_t gyre_ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return gyre_ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

GYRE_EXPORTS(ncclAllGather);
ncclResult_t gyre_ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                                ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclAllGather", [&] {
    return call(
        comm,
        {.kind = CallKind::all_gather, .input = send, .output = recv, .count = count, .type = type},
        stream);
  });
}

GYRE_EXPORTS(ncclReduceScatter);
ncclResult_t gyre_ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                                    ncclRedOp_t op, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclReduceScatter", [&] {
    return call(comm,
                {.kind = CallKind::reduce_scatter,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .type = type,
                 .op = op},
                stream);
  });
}

GYRE_EXPORTS(ncclAlltoAll);
ncclResult_t gyre_ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                               ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclAlltoAll", [&] {
    return call(
        comm,
        {.kind = CallKind::all_to_all, .input = send, .output = recv, .count = count, .type = type},
        stream);
  });
}

GYRE_EXPORTS(ncclGather);
ncclResult_t gyre_ncclGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                             int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclGather", [&] {
    return call(comm,
                {.kind = CallKind::gather,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .type = type,
                 .root = root},
                stream);
  });
}

GYRE_EXPORTS(ncclScatter);
ncclResult_t gyre_ncclScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclScatter", [&] {
    return call(comm,
                {.kind = CallKind::scatter,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .type = type,
                 .root = root},
                stream);
  });
}

GYRE_EXPORTS(ncclSend);
ncclResult_t gyre_ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer,
                           ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclSend", [&] {
    return call(
        comm, {.kind = CallKind::send, .input = buffer, .count = count, .type = type, .root = peer},
        stream);
  });
}

GYRE_EXPORTS(ncclRecv);
ncclResult_t gyre_ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer,
                           ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return guarded("ncclRecv", [&] {
    return call(
        comm,
        {.kind = CallKind::receive, .output = buffer, .count = count, .type = type, .root = peer},
        stream);
  });
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
    GYRE_TRY(group_drop());
    if (info == nullptr) return Error{Status::invalid_argument, "simInfo is NULL"};
    info->estimatedTime = NCCL_UNDEF_FLOAT;  // not known
    return {};
  });
}

GYRE_EXPORTS(ncclRedOpCreatePreMulSum);
ncclResult_t gyre_ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                           ncclScalarResidence_t residence, ncclComm_t comm) {
  return guarded("ncclRedOpCreatePreMulSum", [&]() -> Result<void> {
    if (op == nullptr || scalar == nullptr) {
      return Error{Status::invalid_argument, "op or scalar is NULL"};
    }
    if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate) {
      return Error{Status::invalid_argument,
                   fmt::format("residence {} does not exist", static_cast<int>(residence))};
    }
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    GYRE_TRY_ASSIGN(const DataType element, type_of(type));
    *op = static_cast<ncclRedOp_t>(
        live->user_ops().create(scalar, element, residence == ncclScalarDevice));
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
