// An MPI as a peer. The ranks are mpirun's processes; MPI finds its own way between them.
#include <mpi.h>

#include <cstring>
#include <limits>
#include <vector>

#include "bench/peers/peer.hpp"

namespace gyre::peers {
namespace {

void check(int status, const char* call) {
  if (status != MPI_SUCCESS) throw std::runtime_error(std::string(call) + " failed");
}

int int_of(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Refusal("MPI counts are ints, and this one is larger");
  }
  return static_cast<int>(count);
}

MPI_Datatype type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return MPI_INT8_T;
    case ncclUint8:
      return MPI_UINT8_T;
    case ncclInt32:
      return MPI_INT32_T;
    case ncclUint32:
      return MPI_UINT32_T;
    case ncclInt64:
      return MPI_INT64_T;
    case ncclUint64:
      return MPI_UINT64_T;
    case ncclFloat32:
      return MPI_FLOAT;
    case ncclFloat64:
      return MPI_DOUBLE;
    default:
      throw Refusal("MPI has no such type");
  }
}

MPI_Op op_of(ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      return MPI_SUM;
    case ncclProd:
      return MPI_PROD;
    case ncclMax:
      return MPI_MAX;
    case ncclMin:
      return MPI_MIN;
    default:
      throw Refusal("MPI has no such operation");
  }
}

class MpiPeer final : public Peer {
 public:
  MpiPeer(int ranks, int rank) : rank_(rank) {
    int threads = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &threads), "MPI_Init_thread");
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    if (size != ranks)
      throw Refusal("MPI started another number of processes than there are ranks");
    check(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm_), "MPI_Comm_split");
  }
  ~MpiPeer() override {
    MPI_Comm_free(&comm_);
    MPI_Finalize();
  }

  void all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                  ncclRedOp_t op) override {
    const void* from = send == receive ? MPI_IN_PLACE : send;
    check(MPI_Allreduce(from, receive, int_of(count), type_of(type), op_of(op), comm_),
          "MPI_Allreduce");
  }

  void reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
              ncclRedOp_t op, int root) override {
    const void* from = send == receive && rank_ == root ? MPI_IN_PLACE : send;
    check(MPI_Reduce(from, receive, int_of(count), type_of(type), op_of(op), root, comm_),
          "MPI_Reduce");
  }

  void reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                      ncclRedOp_t op) override {
    const std::size_t bytes = count * size_of(type);
    if (receive != at(send, rank_, bytes)) {
      check(MPI_Reduce_scatter_block(send, receive, int_of(count), type_of(type), op_of(op), comm_),
            "MPI_Reduce_scatter_block");
      return;
    }
    // In place, MPI leaves the result at the front of the buffer, NCCL in the rank's own part.
    void* front = const_cast<void*>(send);
    check(MPI_Reduce_scatter_block(MPI_IN_PLACE, front, int_of(count), type_of(type), op_of(op),
                                   comm_),
          "MPI_Reduce_scatter_block");
    std::memmove(receive, front, bytes);
  }

  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    const void* from = send == at(receive, rank_, bytes) ? MPI_IN_PLACE : send;
    check(MPI_Allgather(from, int_of(bytes), MPI_BYTE, receive, int_of(bytes), MPI_BYTE, comm_),
          "MPI_Allgather");
  }

  void broadcast(const void* send, void* receive, std::size_t bytes, int root) override {
    if (rank_ == root && send != receive) std::memcpy(receive, send, bytes);
    check(MPI_Bcast(receive, int_of(bytes), MPI_BYTE, root, comm_), "MPI_Bcast");
  }

  void all_to_all(const void* send, void* receive, std::size_t bytes) override {
    const void* from = send == receive ? MPI_IN_PLACE : send;
    check(MPI_Alltoall(from, int_of(bytes), MPI_BYTE, receive, int_of(bytes), MPI_BYTE, comm_),
          "MPI_Alltoall");
  }

  void begin_send(const void* data, std::size_t bytes, int to) override {
    check(MPI_Isend(data, int_of(bytes), MPI_BYTE, to, 0, comm_, &next_request()), "MPI_Isend");
  }
  void begin_receive(void* data, std::size_t bytes, int from) override {
    check(MPI_Irecv(data, int_of(bytes), MPI_BYTE, from, 0, comm_, &next_request()), "MPI_Irecv");
  }
  void finish() override {
    check(MPI_Waitall(int_of(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    requests_.clear();
  }

 private:
  MPI_Request& next_request() { return requests_.emplace_back(MPI_REQUEST_NULL); }

  const int rank_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace

void make_id(ncclUniqueId&) {}

std::unique_ptr<Peer> join(const ncclUniqueId&, int ranks, int rank) {
  return std::make_unique<MpiPeer>(ranks, rank);
}

}  // namespace gyre::peers
