// The functions of gyre/gyre.hpp.
#include "gyre/gyre.hpp"

#include <cstring>
#include <utility>

#include "abi/calls.hpp"
#include "abi/config.hpp"
#include "abi/group.hpp"
#include "abi/handle.hpp"
#include "abi/report.hpp"
#include "bootstrap/world.hpp"

namespace gyre {
namespace {

[[noreturn]] void fail(std::string_view function, const Error& error) {
  throw Failure(abi::report(function, error), error.text);
}

template <typename T>
T value_or_throw(std::string_view function, Result<T> result) {
  if (!result) fail(function, result.error());
  return *std::move(result);
}

void value_or_throw(std::string_view function, const Result<void>& result) {
  if (!result) fail(function, result.error());
}

// The block table of a v-collective: `counts` on the side that is cut, for all ranks.
Result<std::shared_ptr<const BlockTable>> table_of(ncclComm_t comm, const std::size_t counts[],
                                                   const std::size_t offsets[], bool sends) {
  GYRE_TRY_ASSIGN(const auto live, abi::communicator_of(comm));
  if (counts == nullptr || offsets == nullptr) {
    return Error{Status::invalid_argument, "counts or offsets is NULL"};
  }
  const auto world = static_cast<std::size_t>(live->world());
  auto blocks = std::make_shared<BlockTable>();
  auto& table_counts = sends ? blocks->send_counts : blocks->receive_counts;
  auto& table_offsets = sends ? blocks->send_offsets : blocks->receive_offsets;
  table_counts.assign(counts, counts + world);
  table_offsets.assign(offsets, offsets + world);
  return std::shared_ptr<const BlockTable>(std::move(blocks));
}

// Rides in every slot, so that ranks with different counts notice.
// More than fits is the largest number there is, which no call accepts.
std::uint64_t total(const std::vector<std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) return UINT64_MAX;
  }
  return sum;
}

}  // namespace

Failure::Failure(ncclResult_t code, const std::string& text)
    : std::runtime_error(text), code_(code) {}
Failure::~Failure() = default;

ProcessGroup::ProcessGroup(const std::string& url)
    : world_(value_or_throw("gyre::ProcessGroup", World::join(url))) {}
ProcessGroup::ProcessGroup(ProcessGroup&&) noexcept = default;
ProcessGroup& ProcessGroup::operator=(ProcessGroup&&) noexcept = default;
ProcessGroup::~ProcessGroup() = default;

int ProcessGroup::rank() const { return world_->rank(); }
int ProcessGroup::size() const { return world_->size(); }
int ProcessGroup::local_rank() const { return world_->local_rank(); }
int ProcessGroup::local_size() const { return world_->local_size(); }

std::vector<std::vector<std::byte>> ProcessGroup::all_gather(std::span<const std::byte> mine) {
  return value_or_throw("gyre::ProcessGroup::all_gather", world_->all_gather(mine));
}

void ProcessGroup::broadcast(std::vector<std::byte>& bytes, int root) {
  value_or_throw("gyre::ProcessGroup::broadcast", world_->broadcast(bytes, root));
}

void ProcessGroup::barrier() { value_or_throw("gyre::ProcessGroup::barrier", world_->barrier()); }

ncclUniqueId ProcessGroup::make_unique_id() {
  const UniqueId id =
      value_or_throw("gyre::ProcessGroup::make_unique_id", world_->make_unique_id());
  ncclUniqueId converted;
  std::memcpy(converted.internal, id.bytes.data(), sizeof converted);
  return converted;
}

ncclComm_t init(const std::string& url) {
  ProcessGroup group(url);
  const ncclUniqueId made = group.make_unique_id();
  UniqueId id;
  std::memcpy(id.bytes.data(), made.internal, sizeof made);
  auto options = value_or_throw("gyre::init", abi::read_config(nullptr, {}));
  if (group.rank() == 0) abi::log_version();
  auto comm = std::make_shared<Communicator>(group.rank(), group.size(), std::move(options));
  value_or_throw("gyre::init", comm->open(id));
  return abi::make_handle(std::move(comm));
}

ncclResult_t all_gather_v(const void* sendbuff, void* recvbuff, const std::size_t counts[],
                          const std::size_t offsets[], ncclDataType_t type, ncclComm_t comm,
                          GYRE_NCCL_STREAM stream) {
  return abi::guarded("gyre::all_gather_v", [&]() -> Result<void> {
    auto blocks = table_of(comm, counts, offsets, /*sends=*/false);
    if (!blocks) return abi::noted(std::move(blocks).error());
    const std::uint64_t sum = total((*blocks)->receive_counts);
    return abi::call(comm,
                     {.kind = CallKind::all_gather_v,
                      .data = {sendbuff, recvbuff, sum, type},
                      .blocks = *std::move(blocks)},
                     stream);
  });
}

ncclResult_t reduce_scatter_v(const void* sendbuff, void* recvbuff, const std::size_t counts[],
                              const std::size_t offsets[], ncclDataType_t type, ncclRedOp_t op,
                              ncclComm_t comm, GYRE_NCCL_STREAM stream) {
  return abi::guarded("gyre::reduce_scatter_v", [&]() -> Result<void> {
    auto blocks = table_of(comm, counts, offsets, /*sends=*/true);
    if (!blocks) return abi::noted(std::move(blocks).error());
    const std::uint64_t sum = total((*blocks)->send_counts);
    return abi::call(comm,
                     {.kind = CallKind::reduce_scatter_v,
                      .data = {sendbuff, recvbuff, sum, type},
                      .op = op,
                      .blocks = *std::move(blocks)},
                     stream);
  });
}

}  // namespace gyre
