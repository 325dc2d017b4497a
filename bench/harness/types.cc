#include "bench/harness/types.hpp"

#include <array>

namespace gyre::bench {
namespace {

constexpr std::array<TypeInfo, ncclNumTypes> kTypes{{{ncclInt8, "int8", 1, 2000},
                                                     {ncclUint8, "uint8", 1, 2000},
                                                     {ncclInt32, "int32", 4, 2000},
                                                     {ncclUint32, "uint32", 4, 2000},
                                                     {ncclInt64, "int64", 8, 2000},
                                                     {ncclUint64, "uint64", 8, 2000},
                                                     {ncclFloat16, "half", 2, 2000},
                                                     {ncclFloat32, "float", 4, 2000},
                                                     {ncclFloat64, "double", 8, 2000},
                                                     {ncclBfloat16, "bfloat16", 2, 21000},
                                                     {ncclFloat8e4m3, "f8e4m3", 1, 22400},
                                                     {ncclFloat8e5m2, "f8e5m2", 1, 22400}}};

constexpr std::array<OpInfo, 6> kOps{{{ncclSum, "sum", 2000},
                                      {ncclProd, "prod", 2000},
                                      {ncclMax, "max", 2000},
                                      {ncclMin, "min", 2000},
                                      {ncclAvg, "avg", 21000},
                                      {kMulSum, "mulsum", 21100}}};

}  // namespace

std::span<const TypeInfo> all_types() { return kTypes; }
std::span<const OpInfo> all_ops() { return kOps; }

const TypeInfo& type_info(ncclDataType_t type) { return kTypes.at(static_cast<std::size_t>(type)); }

bool is_float(ncclDataType_t type) { return type >= ncclFloat16; }

std::optional<ncclDataType_t> find_type(std::string_view name) {
  for (const TypeInfo& type : kTypes) {
    if (type.name == name) return type.value;
  }
  return std::nullopt;
}

std::optional<int> find_op(std::string_view name) {
  for (const OpInfo& op : kOps) {
    if (op.name == name) return op.value;
  }
  return std::nullopt;
}

std::vector<TypeInfo> chosen_types(int choice, int library_version) {
  std::vector<TypeInfo> chosen;
  for (const TypeInfo& type : kTypes) {
    const bool known = type.min_version <= library_version;
    if (choice == type.value || (choice < 0 && known)) chosen.push_back(type);
  }
  return chosen;
}

std::vector<OpInfo> chosen_ops(int choice, int library_version) {
  std::vector<OpInfo> chosen;
  for (const OpInfo& op : kOps) {
    const bool known = op.min_version <= library_version;
    if (choice == op.value || (choice < 0 && known)) chosen.push_back(op);
  }
  return chosen;
}

}  // namespace gyre::bench
