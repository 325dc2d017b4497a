// One collective with one set of parameters: issue it on the local ranks, compare with the oracle.
#pragma once

#include <cstdint>
#include <string>

#include "tests/collective/local_ranks.hpp"
#include "tests/collective/values.hpp"

namespace gyre::test {

enum class Kind {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  send_receive,
  all_to_all_v,
  all_gather_v,
  reduce_scatter_v
};
inline constexpr int kKinds = 12;
const char* name_of(Kind kind);
bool reduces(Kind kind);

struct Case {
  Kind kind = Kind::all_reduce;
  ncclDataType_t type = ncclFloat32;
  Op op = Op::sum;
  std::uint64_t count = 0;
  int root = 0;
  bool in_place = false;
  Memory memory = Memory::plain;
  std::size_t offset = 0;
  std::uint64_t seed = 0;
};

std::string describe(const Case& one);

// Runs it; returns "" or what went wrong.
std::string run_case(const Case& one, const LocalRanks& local);

}  // namespace gyre::test
