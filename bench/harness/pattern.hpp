// Random bytes for the operations that only move data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gyre::bench {

// Writes bytes [offset, offset + to.size()) of the endless stream `stream` of `seed`.
void fill_random(std::span<std::byte> to, std::uint64_t seed, std::uint64_t stream,
                 std::uint64_t offset);

}  // namespace gyre::bench
