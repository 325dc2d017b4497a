// Test values: small whole numbers, chosen so that every result of every operation is exact in its
// type whatever the order of the fold, so that results can be compared bit for bit.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gyre::test {

inline constexpr int kTypes = 12;
enum class Op { sum, prod, max, min, avg, premulsum };
inline constexpr int kOps = 6;

std::size_t size_of(ncclDataType_t type);
const char* name_of(ncclDataType_t type);
const char* name_of(Op op);

// What the values of one call depend on.
struct Source {
  std::uint64_t seed = 0;
  ncclDataType_t type = ncclFloat32;
  Op op = Op::sum;
  int world = 1;
};

// A value as a test computes with it; every input and result is a whole number in its range.
using Value = std::int8_t;

// The elements of `rank` from index `first` on.
void values(const Source& source, int rank, std::uint64_t first, std::span<Value> out);
// The factor of a rank for premulsum: 1 or 2.
int factor_of(int rank);
// The oracle: what the reduction over all ranks must be, from index `first` on.
void reduced(const Source& source, std::uint64_t first, std::span<Value> out);

// Writes whole numbers as elements.
void store(std::span<const Value> from, ncclDataType_t type, std::byte* at);
// The same for one number, which may be a fraction if the type has it exactly.
void store(double number, ncclDataType_t type, std::byte* at);

}  // namespace gyre::test
