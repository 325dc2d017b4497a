// The element types and reduction operations every part of Gyre speaks of.
// Values equal ncclDataType_t and ncclRedOp_t, so that the shim converts by a range check alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gyre {

enum class DataType : std::uint8_t {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8e4m3 = 10,
  float8e5m2 = 11,
};
inline constexpr int kDataTypes = 12;

enum class ReduceOp : std::uint8_t { sum = 0, prod = 1, max = 2, min = 3, avg = 4, premulsum = 5 };
inline constexpr int kReduceOps = 6;

// Bytes of one element.
constexpr std::size_t size_of(DataType type) {
  constexpr std::size_t kSizes[kDataTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return kSizes[static_cast<int>(type)];
}

constexpr bool is_float(DataType type) { return type >= DataType::float16; }

// Types whose sums are computed in fp32 because their own range or precision is too small.
constexpr bool is_low_precision(DataType type) { return is_float(type) && size_of(type) < 4; }

// nccl-tests' spelling.
constexpr std::string_view name_of(DataType type) {
  constexpr std::string_view kNames[kDataTypes] = {"int8",   "uint8",    "int32",  "uint32",
                                                   "int64",  "uint64",   "half",   "float",
                                                   "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return kNames[static_cast<int>(type)];
}

constexpr std::string_view name_of(ReduceOp op) {
  constexpr std::string_view kNames[kReduceOps] = {"sum", "prod", "max", "min", "avg", "mulsum"};
  return kNames[static_cast<int>(op)];
}

}  // namespace gyre
