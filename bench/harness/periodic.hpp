// Long test data at the speed of memory: it repeats with a prime period.
//
// Making every element anew costs tens of nanoseconds, minutes for the largest messages. The period
// is prime, so that data which ended up a chunk, slice, slot or page away from its place, all of
// them multiples of 16 bytes, still differs from what belongs there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace gyre::bench {

inline constexpr std::size_t kPeriod = 65'521;  // elements, or 8-byte words; prime

// Writes units [first, first + count) of a sequence of `unit`-byte units that repeats every kPeriod
// of them. `generate(to, first, count)` makes those within one period.
template <typename Generate>
void fill_periodic(std::byte* to, std::size_t first, std::size_t count, std::size_t unit,
                   Generate&& generate) {
  const std::size_t start = first % kPeriod;
  const std::size_t fresh = std::min(count, kPeriod);
  const std::size_t before_wrap = std::min(fresh, kPeriod - start);
  generate(to, start, before_wrap);
  if (fresh > before_wrap) generate(to + before_wrap * unit, std::size_t{0}, fresh - before_wrap);
  for (std::size_t done = fresh; done < count;) {
    const std::size_t part = std::min(kPeriod, count - done);
    std::memcpy(to + done * unit, to, part * unit);
    done += part;
  }
}

}  // namespace gyre::bench
