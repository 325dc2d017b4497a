// The nccl C functions that the *_perf programs load, over whatever peer.hpp stands for here.
#include <exception>
#include <string>
#include <utility>

#include "bench/peers/peer.hpp"

struct ncclComm {
  std::unique_ptr<gyre::peers::Peer> peer;
  int ranks = 0;
  int rank = 0;
};

namespace {

using gyre::peers::Refusal;
using gyre::peers::size_of;

std::string last_error;        // a bench rank is one thread
int group_depth = 0;           // of ncclGroupStart
ncclComm_t pending = nullptr;  // has sends or receives that the group's end waits for

template <typename Call>
ncclResult_t guarded(Call&& call) {
  try {
    call();
    return ncclSuccess;
  } catch (const Refusal& refusal) {
    last_error = refusal.what();
    return ncclInvalidUsage;
  } catch (const std::exception& failure) {
    last_error = failure.what();
    return ncclSystemError;
  }
}

template <typename Call>
ncclResult_t operation(cudaStream_t stream, Call&& call) {
  return guarded([&] {
    if (stream != nullptr) throw Refusal("this adapter knows no streams: run with -y 1");
    call();
  });
}

void finish_pending() {
  if (group_depth > 0 || pending == nullptr) return;
  std::exchange(pending, nullptr)->peer->finish();
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return guarded([&] {
    *id = {};
    gyre::peers::make_id(*id);
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "the other library failed";
}

const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  return guarded([&] { *comm = new ncclComm{gyre::peers::join(id, ranks, rank), ranks, rank}; });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return guarded([&] { delete comm; });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return guarded([] {
    --group_depth;
    finish_pending();
  });
}

ncclResult_t ncclMemAlloc(void** memory, size_t bytes) {
  return guarded([&] { *memory = gyre::peers::allocate(bytes); });
}

ncclResult_t ncclMemFree(void* memory) {
  return guarded([&] { gyre::peers::release(memory); });
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return operation(stream, [&] { comm->peer->all_reduce(send, receive, count, type, op); });
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return operation(stream, [&] { comm->peer->reduce(send, receive, count, type, op, root); });
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return operation(stream, [&] { comm->peer->reduce_scatter(send, receive, count, type, op); });
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return operation(stream, [&] { comm->peer->all_gather(send, receive, count * size_of(type)); });
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return operation(stream,
                   [&] { comm->peer->broadcast(send, receive, count * size_of(type), root); });
}

ncclResult_t ncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return operation(stream, [&] { comm->peer->all_to_all(send, receive, count * size_of(type)); });
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  return operation(stream, [&] {
    comm->peer->begin_send(data, count * size_of(type), to);
    pending = comm;
    finish_pending();
  });
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  return operation(stream, [&] {
    comm->peer->begin_receive(data, count * size_of(type), from);
    pending = comm;
    finish_pending();
  });
}

}  // extern "C"
