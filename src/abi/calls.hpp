// Turning the arguments of nccl.h into a Call, with NCCL's argument checks.
#pragma once

#include <cstddef>
#include <string_view>

#include "abi/export.hpp"
#include "base/status.hpp"
#include "comm/communicator.hpp"
#include "schedule/call.hpp"

namespace gyre::abi {

// What a call moves: the four arguments that every one of them has.
struct Data {
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
};

struct Arguments {
  CallKind kind = CallKind::all_reduce;
  Data data;
  ncclRedOp_t op = ncclSum;  // reducing calls only
  int root = 0;              // rooted calls and messages only
  // alltoallv and the gyre.hpp calls only
  std::shared_ptr<const BlockTable> blocks = nullptr;
};

// Checks the arguments and issues the call on the handle's communicator.
Result<void> call(ncclComm_t handle, const Arguments& arguments, void* stream);
// The same as the body of the exported `function`.
ncclResult_t perform(std::string_view function, ncclComm_t handle, void* stream,
                     const Arguments& arguments) noexcept;

Error no_such_type(int value);
inline Result<DataType> type_of(ncclDataType_t type) {
  const auto value = static_cast<int>(type);
  if (value < 0 || value >= kDataTypes) return no_such_type(value);
  return static_cast<DataType>(value);
}

}  // namespace gyre::abi
