// oneCCL's CPU library.
#include <cstring>
#include <fstream>
#include <oneapi/ccl.hpp>
#include <vector>

#include "bench/peers/folder.hpp"
#include "bench/peers/peer.hpp"

namespace gyre::peers {
namespace {

ccl::datatype type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return ccl::datatype::int8;
    case ncclUint8:
      return ccl::datatype::uint8;
    case ncclInt32:
      return ccl::datatype::int32;
    case ncclUint32:
      return ccl::datatype::uint32;
    case ncclInt64:
      return ccl::datatype::int64;
    case ncclUint64:
      return ccl::datatype::uint64;
    case ncclFloat16:
      return ccl::datatype::float16;
    case ncclBfloat16:
      return ccl::datatype::bfloat16;
    case ncclFloat32:
      return ccl::datatype::float32;
    case ncclFloat64:
      return ccl::datatype::float64;
    default:
      throw Refusal("oneCCL has no such type");
  }
}

ccl::reduction op_of(ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      return ccl::reduction::sum;
    case ncclProd:
      return ccl::reduction::prod;
    case ncclMax:
      return ccl::reduction::max;
    case ncclMin:
      return ccl::reduction::min;
    default:
      throw Refusal("oneCCL has no such operation");
  }
}

using Address = ccl::kvs::address_type;

// Longer than a unique id, so it goes through a file.
std::string address_file(const ncclUniqueId& id) { return folder_of(id) + "/address"; }

// Kept by the rank that made it: its address is only served while it lives.
ccl::shared_ptr_class<ccl::kvs> main_store;

ccl::shared_ptr_class<ccl::kvs> store_of(const ncclUniqueId& id) {
  if (main_store) return main_store;
  Address address{};
  std::ifstream file(address_file(id), std::ios::binary);
  if (!file.read(address.data(), static_cast<std::streamsize>(address.size()))) {
    throw std::runtime_error("cannot read " + address_file(id));
  }
  return ccl::create_kvs(address);
}

class OneCclPeer final : public Peer {
 public:
  OneCclPeer(const ncclUniqueId& id, int ranks, int rank)
      : rank_(rank), ranks_(ranks), comm_(ccl::create_communicator(ranks, rank, store_of(id))) {
    ccl::barrier(comm_).wait();
    if (rank == 0) remove_folder(id);
  }

  void all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                  ncclRedOp_t op) override {
    ccl::allreduce(send, receive, count, type_of(type), op_of(op), comm_).wait();
  }

  void reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
              ncclRedOp_t op, int root) override {
    ccl::reduce(send, receive, count, type_of(type), op_of(op), root, comm_).wait();
  }

  void reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                      ncclRedOp_t op) override {
    const bool in_place = receive == at(send, rank_, count * size_of(type));
    if (in_place) send = copied(send, count * size_of(type) * static_cast<std::size_t>(ranks_));
    ccl::reduce_scatter(send, receive, count, type_of(type), op_of(op), comm_).wait();
  }

  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    if (send == at(receive, rank_, bytes)) send = copied(send, bytes);
    ccl::allgather(send, receive, bytes, ccl::datatype::uint8, comm_).wait();
  }

  void broadcast(const void* send, void* receive, std::size_t bytes, int root) override {
    if (rank_ == root && send != receive) std::memcpy(receive, send, bytes);
    ccl::broadcast(receive, bytes, ccl::datatype::uint8, root, comm_).wait();
  }

  void all_to_all(const void* send, void* receive, std::size_t bytes) override {
    if (send == receive) send = copied(send, bytes * static_cast<std::size_t>(ranks_));
    ccl::alltoall(send, receive, bytes, ccl::datatype::uint8, comm_).wait();
  }

  void begin_send(const void* data, std::size_t bytes, int to) override {
    begun_.push_back(ccl::send(const_cast<void*>(data), bytes, ccl::datatype::uint8, to, comm_));
  }
  void begin_receive(void* data, std::size_t bytes, int from) override {
    begun_.push_back(ccl::recv(data, bytes, ccl::datatype::uint8, from, comm_));
  }
  void finish() override {
    for (ccl::event& event : begun_) event.wait();
    begun_.clear();
  }

 private:
  // For operations whose in-place form oneCCL does not promise.
  const void* copied(const void* data, std::size_t bytes) {
    scratch_.resize(bytes);
    std::memcpy(scratch_.data(), data, bytes);
    return scratch_.data();
  }

  const int rank_;
  const int ranks_;
  ccl::communicator comm_;
  std::vector<std::byte> scratch_;
  std::vector<ccl::event> begun_;
};

}  // namespace

void make_id(ncclUniqueId& id) {
  ccl::init();
  make_folder(id);
  main_store = ccl::create_main_kvs();
  const Address address = main_store->get_address();
  std::ofstream(address_file(id), std::ios::binary)
      .write(address.data(), static_cast<std::streamsize>(address.size()));
}

std::unique_ptr<Peer> join(const ncclUniqueId& id, int ranks, int rank) {
  ccl::init();
  return std::make_unique<OneCclPeer>(id, ranks, rank);
}

}  // namespace gyre::peers
