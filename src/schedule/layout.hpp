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
//   parted:  `count` elements in all, cut into `chunks` parts of `stride` elements, the last ones
//            shorter or empty; tile t is the t-th slice of every part (the same, of host ranks).
//   blocked: `chunks` blocks; block c starts at c*stride and has `count` elements; tile t is the
//            t-th slice of every block (all-gather's output, reduce-scatter's input, all-to-all).
//   table:   like blocked, with an offset and count of its own per block (the v-variants).
struct Layout {
  enum class Kind : std::uint8_t { tiled, parted, blocked, table };
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
    const Extent all = block(chunk);
    const std::uint64_t start = tile * slice;
    return {all.offset + std::min(start, all.count),
            start < all.count ? std::min(slice, all.count - start) : 0};
  }

  // A chunk in all tiles together, which lies in one piece. Precondition: not tiled.
  constexpr Extent block(std::uint64_t chunk) const {
    if (kind == Kind::table) return {offsets[chunk], counts[chunk]};
    const std::uint64_t start = chunk * stride;
    if (kind == Kind::blocked) return {start, count};
    return {std::min(start, count), start < count ? std::min(stride, count - start) : 0};
  }

  // Whether the chunks of a tile are as long as each other.
  constexpr bool has_even_tiles() const { return kind != Kind::tiled && kind != Kind::parted; }

  // Where the buffer ends: the elements that it has, with what lies between its chunks.
  std::uint64_t end() const {
    if (kind == Kind::tiled || kind == Kind::parted) return count;
    if (kind == Kind::blocked) return chunks == 0 ? 0 : (chunks - 1) * stride + count;
    std::uint64_t last = 0;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      last = std::max(last, offsets[chunk] + counts[chunk]);
    }
    return last;
  }

  // Tiles that cover the whole buffer; at least 1.
  std::uint64_t tiles() const {
    std::uint64_t longest = 0;
    if (kind == Kind::tiled) {
      longest = (count + chunks - 1) / chunks;
    } else if (kind == Kind::table && chunks != 0) {
      longest = *std::max_element(counts, counts + chunks);
    } else if (kind != Kind::table) {
      longest = block(0).count;
    }
    return std::max<std::uint64_t>(1, (longest + slice - 1) / slice);
  }
};

}  // namespace gyre
