// Test values: small whole numbers, chosen so that every result of every operation is exact in its
// type whatever the order of the fold, so that results can be compared bit for bit.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gyre::test {

inline constexpr int kTypes = 12;
enum class Op { sum, prod, max, min, avg, premulsum };
inline constexpr int kOps = 6;

std::size_t size_of(ncclDataType_t type);
const char* name_of(ncclDataType_t type);
const char* name_of(Op op);

// The whole number that element `index` of rank `rank` holds in case `seed`.
int value_at(std::uint64_t seed, int rank, std::uint64_t index, ncclDataType_t type, Op op,
             int world);
// The factor of a rank for premulsum: 1 or 2.
int factor_of(int rank);
// Writes a whole number as an element.
void store(std::byte* at, ncclDataType_t type, double value);

// The 20-line oracle: what element `index` of the reduction over all ranks must be.
double reduced(std::uint64_t seed, std::uint64_t index, ncclDataType_t type, Op op, int world);

}  // namespace gyre::test
