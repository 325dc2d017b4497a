#include "abi/calls.hpp"

#include <fmt/format.h>

#include <utility>

#include "abi/group.hpp"
#include "abi/handle.hpp"
#include "abi/report.hpp"
#include "base/contain.hpp"

namespace gyre::abi {
namespace {

Result<void> set_operation(Communicator& comm, ncclRedOp_t op, Call& call) {
  const auto value = static_cast<int>(op);
  if (value < 0) {
    return Error{Status::invalid_argument, fmt::format("reduction {} does not exist", value)};
  }
  if (value < static_cast<int>(ncclNumOps)) {
    call.op = static_cast<ReduceOp>(value);
    return {};
  }
  GYRE_TRY_ASSIGN(const UserOps::Found found, comm.user_ops().find(value, call.type));
  call.op = ReduceOp::premulsum;
  call.scale = found.factor.scale;
  call.scale_bits = found.factor.bits;
  call.scalar = found.scalar;
  return {};
}

}  // namespace

Error no_such_type(int value) {
  return {Status::invalid_argument,
          fmt::format("data type {} does not exist; types are 0 to {}", value, kDataTypes - 1)};
}

Result<void> call(ncclComm_t handle, const Arguments& arguments, void* stream) {
  const auto run = [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const Borrowed comm, borrow(handle));
    const Data& data = arguments.data;
    GYRE_TRY_ASSIGN(const DataType type, type_of(data.type));
    Call call{.kind = arguments.kind,
              .type = type,
              .root = arguments.root,
              .count = data.count,
              .input = static_cast<const std::byte*>(data.input),
              .output = static_cast<std::byte*>(data.output),
              .blocks = arguments.blocks};
    if (reduces(call.kind)) GYRE_TRY(set_operation(*comm, arguments.op, call));
    return submit(comm, call, stream);
  };
  return noted(contained("this process", run));
}

ncclResult_t perform(std::string_view function, ncclComm_t handle, void* stream,
                     const Arguments& arguments) noexcept {
  return guarded(function, [&] { return call(handle, arguments, stream); });
}

}  // namespace gyre::abi
