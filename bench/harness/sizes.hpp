// Byte sizes on the command line, and the sweep over them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace gyre::bench {

// "8", "1.5M", "4GB": K, M and G are powers of 1024. Nothing if it is not such a size or does not
// fit 63 bits.
std::optional<std::size_t> parse_size(std::string_view text);

struct Sweep {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t step = 0;    // added, if factor < 2
  std::size_t factor = 0;  // multiplied, if >= 2

  // The size after `size`, or nothing when it would pass `last` (or overflow).
  std::optional<std::size_t> next(std::size_t size) const;
};

}  // namespace gyre::bench
