// Where chunk c of tile t lies in a buffer, in elements. All arithmetic is 64-bit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gyre {

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;  // 0: the chunk is empty in this tile
};

// How a buffer is cut. Every chunk of a tile has at most `slice` elements.
//
//   tiled:   `count` elements in all; tile t is the range [t*chunks*slice, ...), cut into `chunks`
//            chunks of `slice` (all-reduce, broadcast, reduce).
//   blocked: `chunks` blocks; block c starts at c*stride and has `count` elements; tile t is the
//            t-th slice of every block (all-gather's output, reduce-scatter's input, all-to-all).
//   table:   like blocked, with an offset and count of its own per block (the v-variants).
struct Layout {
  enum class Kind : std::uint8_t { tiled, blocked, table };
  Kind kind = Kind::tiled;
  std::uint32_t chunks = 1;
  std::uint64_t count = 0;
  std::uint64_t stride = 0;
  std::uint64_t slice = 1;
  const std::uint64_t* offsets = nullptr;  // table: `chunks` values each
  const std::uint64_t* counts = nullptr;

  constexpr Extent extent(std::uint64_t tile, std::uint64_t chunk) const {
    if (kind == Kind::tiled) {
      const std::uint64_t start = (tile * chunks + chunk) * slice;
      return {std::min(start, count), start < count ? std::min(slice, count - start) : 0};
    }
    const std::uint64_t base = kind == Kind::table ? offsets[chunk] : chunk * stride;
    const std::uint64_t size = kind == Kind::table ? counts[chunk] : count;
    const std::uint64_t start = tile * slice;
    return {base + std::min(start, size), start < size ? std::min(slice, size - start) : 0};
  }

  // Where the buffer ends: the elements that it has, with what lies between its chunks.
  std::uint64_t end() const {
    if (kind == Kind::tiled) return count;
    if (kind == Kind::blocked) return chunks == 0 ? 0 : (chunks - 1) * stride + count;
    std::uint64_t last = 0;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      last = std::max(last, offsets[chunk] + counts[chunk]);
    }
    return last;
  }

  // Tiles that cover the whole buffer; at least 1.
  std::uint64_t tiles() const {
    std::uint64_t longest = kind == Kind::tiled ? (count + chunks - 1) / chunks : count;
    if (kind == Kind::table) {
      longest = chunks == 0 ? 0 : *std::max_element(counts, counts + chunks);
    }
    return std::max<std::uint64_t>(1, (longest + slice - 1) / slice);
  }
};

}  // namespace gyre
