// Gyre's own C++ interface: what nccl.h does not have.
//
//   gyre::ProcessGroup   the processes of a job, found from the launcher's variables or a URL,
//                        without MPI and without a device
//   gyre::init           a communicator over them
//   gyre::all_gather_v, gyre::reduce_scatter_v   collectives with a count per rank
//
// Link libgyre. Include <nccl.h> or <rccl/rccl.h> first, or neither.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "nccl_api.h"

#if !defined(GYRE_API)
#define GYRE_API __attribute__((visibility("default")))
#endif

namespace gyre {

// What the functions of this header throw; what() names who, what and the remedy.
class GYRE_API Failure : public std::runtime_error {
 public:
  Failure(ncclResult_t code, const std::string& text);
  ~Failure() override;
  ncclResult_t code() const { return code_; }

 private:
  ncclResult_t code_;
};

class World;

// The processes of a job. All member functions but the getters are collective, in the same order on
// all ranks, by one thread at a time; they end at GYRE_INIT_TIMEOUT with the missing ranks'
// numbers.
class GYRE_API ProcessGroup {
 public:
  // "env://"            the variables of torchrun, gyre run, Open MPI, MPICH, Slurm; without a
  //                     launcher a group of one
  // "tcp://host:port"   rank 0 listens there; "?rank=0&world=2" where no launcher says it
  // "file:///dir"       rank 0 leaves the rendezvous in a file of that shared directory
  // Throws Failure.
  explicit ProcessGroup(const std::string& url = "env://");
  ProcessGroup(ProcessGroup&&) noexcept;
  ProcessGroup& operator=(ProcessGroup&&) noexcept;
  ~ProcessGroup();

  int rank() const;
  int size() const;
  // Among the ranks of the same machine, in order of rank.
  int local_rank() const;
  int local_size() const;

  // Every rank's bytes, by rank; at most 1 MiB each.
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine);
  // On the root `bytes` is sent, elsewhere it is replaced.
  void broadcast(std::vector<std::byte>& bytes, int root);
  void barrier();
  // The same new id on every rank, for ncclCommInitRank.
  ncclUniqueId make_unique_id();

 private:
  std::unique_ptr<World> world_;
};

// A communicator over all processes that join `url`; throws Failure. End it with ncclCommDestroy.
GYRE_API ncclComm_t init(const std::string& url = "env://");

// All-gather with a count per rank. `counts` and `offsets` (elements of recvbuff) have one entry
// per rank and are equal on all ranks; sendbuff holds counts[rank] elements. In place: sendbuff ==
// recvbuff + offsets[rank]. Same rules of groups, streams and errors as ncclAllGather.
GYRE_API ncclResult_t all_gather_v(const void* sendbuff, void* recvbuff, const std::size_t counts[],
                                   const std::size_t offsets[], ncclDataType_t type,
                                   ncclComm_t comm, GYRE_NCCL_STREAM stream);

// Reduce-scatter with a count per rank: rank i receives the reduction of the counts[i] elements at
// offsets[i] of every rank's sendbuff. In place: recvbuff == sendbuff + offsets[rank].
GYRE_API ncclResult_t reduce_scatter_v(const void* sendbuff, void* recvbuff,
                                       const std::size_t counts[], const std::size_t offsets[],
                                       ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                       GYRE_NCCL_STREAM stream);

}  // namespace gyre
