// Gloo over TCP on the loopback interface, its only transport here. PEER_GLOO chooses the
// all-reduce: ring (default) or bcube.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <string_view>
#include <vector>

#include "bench/peers/folder.hpp"
#include "bench/peers/peer.hpp"

namespace gyre::peers {
namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
using Fold = void (*)(void*, const void*, const void*, std::size_t);
using Algorithm = gloo::AllreduceOptions::Algorithm;

template <typename T>
Fold fold_of(ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      return &gloo::sum<T>;
    case ncclProd:
      return &gloo::product<T>;
    case ncclMax:
      return &gloo::max<T>;
    case ncclMin:
      return &gloo::min<T>;
    default:
      throw Refusal("Gloo has no such operation");
  }
}

// Calls `use` with a null pointer of the C++ type.
template <typename Use>
void with_type(ncclDataType_t type, Use&& use) {
  switch (type) {
    case ncclInt32:
      return use(static_cast<std::int32_t*>(nullptr));
    case ncclInt64:
      return use(static_cast<std::int64_t*>(nullptr));
    case ncclUint8:
      return use(static_cast<std::uint8_t*>(nullptr));
    case ncclFloat32:
      return use(static_cast<float*>(nullptr));
    case ncclFloat64:
      return use(static_cast<double*>(nullptr));
    default:
      throw Refusal("Gloo has no such type");
  }
}

Algorithm chosen_algorithm() {
  const char* text = std::getenv("PEER_GLOO");
  const std::string_view name = text == nullptr ? "ring" : text;
  if (name == "ring") return Algorithm::RING;
  if (name == "bcube") return Algorithm::BCUBE;
  throw Refusal("PEER_GLOO is neither ring nor bcube");
}

std::shared_ptr<gloo::Context> connect(const ncclUniqueId& id, int ranks, int rank) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  gloo::rendezvous::FileStore store(folder_of(id));
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  context->connectFullMesh(store, device);
  return context;
}

class GlooPeer final : public Peer {
 public:
  GlooPeer(const ncclUniqueId& id, int ranks, int rank)
      : rank_(rank),
        ranks_(ranks),
        algorithm_(chosen_algorithm()),
        context_(connect(id, ranks, rank)) {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
    if (rank == 0) remove_folder(id);
  }

  void all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                  ncclRedOp_t op) override {
    with_type(type, [&](auto* null) {
      using T = std::remove_pointer_t<decltype(null)>;
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(algorithm_);
      if (send != receive) options.setInput(static_cast<T*>(const_cast<void*>(send)), count);
      options.setOutput(static_cast<T*>(receive), count);
      options.setReduceFunction(fold_of<T>(op));
      options.setTag(next_tag());
      gloo::allreduce(options);
    });
  }

  void reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
              ncclRedOp_t op, int root) override {
    with_type(type, [&](auto* null) {
      using T = std::remove_pointer_t<decltype(null)>;
      gloo::ReduceOptions options(context_);
      options.setInput(static_cast<T*>(const_cast<void*>(send)), count);
      options.setOutput(static_cast<T*>(receive), count);
      options.setReduceFunction(fold_of<T>(op));
      options.setRoot(root);
      options.setTag(next_tag());
      gloo::reduce(options);
    });
  }

  // Gloo has none for buffers of the caller's: an all-reduce, and the own part of it.
  void reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                      ncclRedOp_t op) override {
    const std::size_t bytes = count * size_of(type);
    scratch_.resize(bytes * static_cast<std::size_t>(ranks_));
    all_reduce(send, scratch_.data(), count * static_cast<std::size_t>(ranks_), type, op);
    std::memcpy(receive, scratch_.data() + static_cast<std::size_t>(rank_) * bytes, bytes);
  }

  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    gloo::AllgatherOptions options(context_);
    char* to = static_cast<char*>(receive);
    if (send != to + static_cast<std::size_t>(rank_) * bytes) {
      options.setInput(static_cast<char*>(const_cast<void*>(send)), bytes);
    }
    options.setOutput(to, bytes * static_cast<std::size_t>(ranks_));
    options.setTag(next_tag());
    gloo::allgather(options);
  }

  void broadcast(const void* send, void* receive, std::size_t bytes, int root) override {
    gloo::BroadcastOptions options(context_);
    if (rank_ == root && send != receive) {
      options.setInput(static_cast<char*>(const_cast<void*>(send)), bytes);
    }
    options.setOutput(static_cast<char*>(receive), bytes);
    options.setRoot(root);
    options.setTag(next_tag());
    gloo::broadcast(options);
  }

  void all_to_all(const void* send, void* receive, std::size_t bytes) override {
    gloo::AlltoallOptions options(context_);
    const std::size_t whole = bytes * static_cast<std::size_t>(ranks_);
    // Gloo has no in-place form.
    if (send == receive) {
      scratch_.resize(whole);
      std::memcpy(scratch_.data(), send, whole);
      send = scratch_.data();
    }
    options.setInput(static_cast<char*>(const_cast<void*>(send)), whole);
    options.setOutput(static_cast<char*>(receive), whole);
    options.setTag(next_tag());
    gloo::alltoall(options);
  }

  void begin_send(const void* data, std::size_t bytes, int to) override {
    sends_.push_back(context_->createUnboundBuffer(const_cast<void*>(data), bytes));
    sends_.back()->send(to, kPairSlot);
  }
  void begin_receive(void* data, std::size_t bytes, int from) override {
    receives_.push_back(context_->createUnboundBuffer(data, bytes));
    receives_.back()->recv(from, kPairSlot);
  }
  void finish() override {
    for (const Buffer& buffer : sends_) buffer->waitSend();
    for (const Buffer& buffer : receives_) buffer->waitRecv();
    sends_.clear();
    receives_.clear();
  }

 private:
  // Not a collective's: those begin with one that says which collective.
  static constexpr std::uint64_t kPairSlot = 1;

  std::uint32_t next_tag() { return ++tag_; }

  const int rank_;
  const int ranks_;
  const Algorithm algorithm_;
  const std::shared_ptr<gloo::Context> context_;
  std::uint32_t tag_ = 0;
  std::vector<char> scratch_;
  std::vector<Buffer> sends_;
  std::vector<Buffer> receives_;
};

}  // namespace

void make_id(ncclUniqueId& id) { make_folder(id); }

std::unique_ptr<Peer> join(const ncclUniqueId& id, int ranks, int rank) {
  return std::make_unique<GlooPeer>(id, ranks, rank);
}

}  // namespace gyre::peers
