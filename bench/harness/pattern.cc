#include "bench/harness/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "bench/harness/random.hpp"

namespace gyre::bench {

void fill_random(std::span<std::byte> to, std::uint64_t seed, std::uint64_t stream,
                 std::uint64_t offset) {
  const std::uint64_t key = random_at(seed, stream);
  std::size_t done = 0;
  while (done < to.size()) {
    const std::uint64_t at = offset + done;
    const std::uint64_t word = mix(key + (at / 8) * kGolden);
    const std::size_t skip = at % 8;
    const std::size_t part = std::min<std::size_t>(8 - skip, to.size() - done);
    std::memcpy(to.data() + done, reinterpret_cast<const std::byte*>(&word) + skip, part);
    done += part;
  }
}

}  // namespace gyre::bench
