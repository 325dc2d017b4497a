// What an adapter says about the library that it stands for; exports.cc makes the nccl C functions
// of it. Every operation is complete when it returns, as in an MPI program, so adapters serve the
// null stream only (-y 1).
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "nccl.h"

namespace gyre::peers {

// Thrown for what a library cannot do or says it failed at; the text is ncclGetLastError's.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bytes of one element.
inline std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

// Where the part of `rank` lies in a buffer of parts of `bytes` each.
inline const void* at(const void* base, int rank, std::size_t bytes) {
  return static_cast<const std::byte*>(base) + static_cast<std::size_t>(rank) * bytes;
}

// A communicator of the other library. Counts are elements per rank where a rank owns a part.
class Peer {
 public:
  virtual ~Peer() = default;

  virtual void all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                          ncclRedOp_t op) = 0;
  virtual void reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                      ncclRedOp_t op, int root) = 0;
  virtual void reduce_scatter(const void* send, void* receive, std::size_t count,
                              ncclDataType_t type, ncclRedOp_t op) = 0;
  virtual void all_gather(const void* send, void* receive, std::size_t bytes) = 0;
  virtual void broadcast(const void* send, void* receive, std::size_t bytes, int root) = 0;
  virtual void all_to_all(const void* send, void* receive, std::size_t bytes) = 0;

  // Begun until finish(), which waits for all of them.
  virtual void begin_send(const void* data, std::size_t bytes, int to) = 0;
  virtual void begin_receive(void* data, std::size_t bytes, int from) = 0;
  virtual void finish() = 0;
};

// Each adapter defines these. `id` is what make_id() filled in on one rank.
void make_id(ncclUniqueId& id);
std::unique_ptr<Peer> join(const ncclUniqueId& id, int ranks, int rank);
// In memory.cc.
void* allocate(std::size_t bytes);
void release(void* memory);

}  // namespace gyre::peers
