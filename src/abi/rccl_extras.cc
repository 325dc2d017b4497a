// What RCCL adds to NCCL's interface.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "abi/calls.hpp"
#include "abi/group.hpp"
#include "abi/handle.hpp"
#include "abi/report.hpp"

// Declared as in rccl/rccl.h, which cannot be included beside nccl.h's stream type.
typedef int mscclAlgoHandle_t;  // NOLINT(modernize-use-using)

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

namespace {

Result<void> all_to_all_v(const void* send, const size_t* send_counts, const size_t* send_offsets,
                          void* recv, const size_t* recv_counts, const size_t* recv_offsets,
                          ncclDataType_t type, ncclComm_t comm, void* stream) {
  GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
  if (send_counts == nullptr || send_offsets == nullptr || recv_counts == nullptr ||
      recv_offsets == nullptr) {
    return Error{Status::invalid_argument, "an array of counts or offsets is NULL"};
  }
  const auto world = static_cast<std::size_t>(live->world());
  const auto self = static_cast<std::size_t>(live->rank());
  if (send_counts[self] != recv_counts[self]) {
    return Error{Status::invalid_argument,
                 fmt::format("rank {} sends {} elements to itself but receives {}", self,
                             send_counts[self], recv_counts[self])};
  }
  const auto anything = [world](const size_t* counts) {
    return std::any_of(counts, counts + world, [](size_t n) { return n != 0; });
  };
  if ((send == nullptr && anything(send_counts)) || (recv == nullptr && anything(recv_counts))) {
    return Error{Status::invalid_argument, "a buffer is NULL although its counts are not all zero"};
  }
  auto blocks = std::make_shared<BlockTable>();
  blocks->send_counts.assign(send_counts, send_counts + world);
  blocks->send_offsets.assign(send_offsets, send_offsets + world);
  blocks->receive_counts.assign(recv_counts, recv_counts + world);
  blocks->receive_offsets.assign(recv_offsets, recv_offsets + world);
  return call(comm,
              {.kind = CallKind::all_to_all_v,
               .data = {.input = send, .output = recv, .type = type},
               .blocks = std::move(blocks)},
              stream);
}

Result<void> no_msccl() {
  return Error{Status::invalid_usage,
               "MSCCL algorithm files are not supported; Gyre's own schedules run instead"};
}

}  // namespace

extern "C" {

GYRE_API ncclResult_t gyre_ncclAlltoAllv(const void* send, const size_t send_counts[],
                                         const size_t send_offsets[], void* recv,
                                         const size_t recv_counts[], const size_t recv_offsets[],
                                         ncclDataType_t type, ncclComm_t comm,
                                         GYRE_NCCL_STREAM stream) {
  return guarded("ncclAlltoAllv", [&] {
    return noted(all_to_all_v(send, send_counts, send_offsets, recv, recv_counts, recv_offsets,
                              type, comm, stream));
  });
}

GYRE_API ncclResult_t gyre_ncclAllToAllv(const void* send, const size_t send_counts[],
                                         const size_t send_offsets[], void* recv,
                                         const size_t recv_counts[], const size_t recv_offsets[],
                                         ncclDataType_t type, ncclComm_t comm,
                                         GYRE_NCCL_STREAM stream) {
  return gyre_ncclAlltoAllv(send, send_counts, send_offsets, recv, recv_counts, recv_offsets, type,
                            comm, stream);
}

GYRE_API ncclResult_t gyre_ncclAllToAll(const void* send, void* recv, size_t count,
                                        ncclDataType_t type, ncclComm_t comm,
                                        GYRE_NCCL_STREAM stream) {
  return perform("ncclAllToAll", comm, stream,
                 {.kind = CallKind::all_to_all, .data = {send, recv, count, type}});
}

GYRE_API ncclResult_t gyre_ncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t,
                                                 ncclRedOp_t, ncclComm_t, GYRE_NCCL_STREAM,
                                                 const void*) {
  return guarded("ncclAllReduceWithBias", []() -> Result<void> {
    return noted(
        Error{Status::invalid_usage, "not provided; all-reduce, then add the bias on each rank"});
  });
}

GYRE_API ncclResult_t gyre_mscclLoadAlgo(const char*, mscclAlgoHandle_t*, int) {
  return guarded("mscclLoadAlgo", no_msccl);
}

GYRE_API ncclResult_t gyre_mscclRunAlgo(const void*, const size_t[], const size_t[], void*,
                                        const size_t[], const size_t[], size_t, ncclDataType_t, int,
                                        int, ncclRedOp_t, mscclAlgoHandle_t, ncclComm_t,
                                        GYRE_NCCL_STREAM) {
  return guarded("mscclRunAlgo", no_msccl);
}

GYRE_API ncclResult_t gyre_mscclUnloadAlgo(mscclAlgoHandle_t) {
  return guarded("mscclUnloadAlgo", no_msccl);
}

}  // extern "C"
