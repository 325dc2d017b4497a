// The collective library under test: every function through one table, filled by dlopen, so that
// the same program measures Gyre's libnccl.so.2 or any other.
#pragma once

#include <cstddef>
#include <string>

#include "nccl.h"

namespace gyre::bench {

// RCCL's name; NCCL has no such function. Counts and displacements in elements.
using AlltoAllvFunction = ncclResult_t (*)(const void* sendbuff, const std::size_t sendcounts[],
                                           const std::size_t sdispls[], void* recvbuff,
                                           const std::size_t recvcounts[],
                                           const std::size_t rdispls[], ncclDataType_t datatype,
                                           ncclComm_t comm, cudaStream_t stream);

// Functions marked optional may be null: older libraries lack them.
struct Library {
  void* handle = nullptr;  // never closed: its threads may outlive main()
  std::string path;        // as it was opened
  int version = 0;         // what ncclGetVersion says

  decltype(&::ncclGetVersion) get_version = nullptr;
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;  // optional
  decltype(&::ncclCommInitRankConfig) init_rank_config = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
  decltype(&::ncclMemAlloc) mem_alloc = nullptr;
  decltype(&::ncclMemFree) mem_free = nullptr;
  decltype(&::ncclCommRegister) register_buffer = nullptr;            // optional
  decltype(&::ncclCommDeregister) deregister_buffer = nullptr;        // optional
  decltype(&::ncclCommWindowRegister) window_register = nullptr;      // optional
  decltype(&::ncclCommWindowDeregister) window_deregister = nullptr;  // optional
  decltype(&::ncclRedOpCreatePreMulSum) create_premulsum = nullptr;   // optional
  decltype(&::ncclRedOpDestroy) destroy_op = nullptr;                 // optional
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) recv = nullptr;
  decltype(&::ncclAlltoAll) all_to_all = nullptr;  // optional
  decltype(&::ncclGather) gather = nullptr;        // optional
  decltype(&::ncclScatter) scatter = nullptr;      // optional
  AlltoAllvFunction all_to_all_v = nullptr;        // optional

  // Throws Failure that names the call, the code's text and the library's last error.
  void check(ncclResult_t result, const char* call) const;
};

// Opens `path`, or (empty) Gyre's: never another vendor's that the loader may find.
// Throws Failure if it cannot be opened or lacks a function that every program needs.
Library load_library(const std::string& path);

// Closes the group it opened, also when an exception passes; end() reports the group's error.
class GroupScope {
 public:
  GroupScope(const Library& library, bool wanted);
  ~GroupScope();
  GroupScope(const GroupScope&) = delete;
  GroupScope& operator=(const GroupScope&) = delete;
  void end();

 private:
  const Library& library_;
  bool open_;
};

}  // namespace gyre::bench
