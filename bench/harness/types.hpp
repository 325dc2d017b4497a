// The element types and operations of the benches, under nccl-tests' names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nccl.h"

namespace gyre::bench {

// Stands for an operation made by ncclRedOpCreatePreMulSum, which has no value of its own.
inline constexpr int kMulSum = ncclNumOps;

struct TypeInfo {
  ncclDataType_t value;
  std::string_view name;
  std::size_t size;  // bytes of one element
  int min_version;   // first library version (NCCL_VERSION_CODE) that knows it
};

struct OpInfo {
  int value;  // ncclRedOp_t, or kMulSum
  std::string_view name;
  int min_version;
};

std::span<const TypeInfo> all_types();
std::span<const OpInfo> all_ops();

const TypeInfo& type_info(ncclDataType_t type);
bool is_float(ncclDataType_t type);

// The value of a name, or nothing if there is no such name.
std::optional<ncclDataType_t> find_type(std::string_view name);
std::optional<int> find_op(std::string_view name);

// What `choice` (a value, or -1 for all) stands for with a library of this version.
std::vector<TypeInfo> chosen_types(int choice, int library_version);
std::vector<OpInfo> chosen_ops(int choice, int library_version);

}  // namespace gyre::bench
