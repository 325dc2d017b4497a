// The reductions a user made with ncclRedOpCreatePreMulSum, by handle.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/factor.hpp"

namespace gyre {

class UserOps {
 public:
  static constexpr int kFirstHandle = 5;  // ncclNumOps

  // `device_scalar`: the factor is read when a call that uses it runs; otherwise now.
  Result<int> create(const void* scalar, DataType type, bool device_scalar);
  Result<void> destroy(int handle);
  // What a call on `type` multiplies by: a factor, or where to read it when the call runs.
  struct Found {
    Factor factor;
    const void* scalar = nullptr;
  };
  Result<Found> find(int handle, DataType type) const;

 private:
  struct Operation {
    DataType type = DataType::float32;
    Factor factor;
    const void* scalar = nullptr;  // device scalars
  };
  mutable std::mutex mutex_;
  std::map<int, Operation> operations_;
};

}  // namespace gyre
