// What a rank posts of its users' memory for ranks of other processes to map. They read it while it
// may be written: a posting that is cut in two is seen by its sum, and read again later.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/fnv.hpp"
#include "gyre/device.h"

namespace gyre {

struct Posting {
  std::uint64_t allocation = 0;  // 0: none
  std::uint64_t base = 0;        // in the owner's process
  std::uint64_t bytes = 0;
  gyreIpcHandle handle{};
  std::uint64_t sum = 0;

  std::uint64_t right_sum() const {
    Fnv fnv;
    fnv.add_number(allocation);
    fnv.add_number(base);
    fnv.add_number(bytes);
    for (const unsigned char byte : handle.bytes) fnv.add(byte);
    return fnv.value();
  }
  bool is_whole() const { return allocation != 0 && sum == right_sum(); }
};

struct Board {
  // Grows with every posting that is taken down; written last. Never that of cleared memory, which
  // is what peers may find where a board was.
  std::uint64_t edition = 1;
  std::array<Posting, 256> postings{};

  // The posting of an allocation, if it is there and whole.
  const Posting* find(std::uint64_t allocation) const {
    const auto found = std::find_if(postings.begin(), postings.end(), [&](const Posting& posting) {
      return posting.allocation == allocation && posting.is_whole();
    });
    return found == postings.end() ? nullptr : &*found;
  }
  std::size_t index_of(const Posting& posting) const {
    return static_cast<std::size_t>(&posting - postings.data());
  }
  Posting* free_place() {
    const auto found = std::find_if(postings.begin(), postings.end(),
                                    [](const Posting& posting) { return posting.allocation == 0; });
    return found == postings.end() ? nullptr : &*found;
  }
};
static_assert(std::is_trivially_copyable_v<Board>);

}  // namespace gyre
