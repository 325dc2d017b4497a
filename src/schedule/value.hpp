// What a chunk holds, symbolically: whose contributions, folded in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gyre {

// Marks of the ranks: up to 64 ranks one bit each, so that a set of contributions is exact; beyond,
// random 64-bit numbers whose sum is wrong with probability 2^-64.
class RankMarks {
 public:
  explicit RankMarks(std::uint32_t world) : marks_(world) {
    std::uint64_t state = world;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      marks_[rank] = exact() ? std::uint64_t{1} << rank : random(state);
      all_ += marks_[rank];
    }
  }
  bool exact() const { return marks_.size() <= 64; }
  std::uint64_t of(std::uint32_t rank) const { return marks_[rank]; }
  std::uint64_t all() const { return all_; }

 private:
  // splitmix64
  static std::uint64_t random(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::vector<std::uint64_t> marks_;
  std::uint64_t all_ = 0;
};

struct Value {
  std::uint64_t ranks = 0;     // sum of the marks of the contributing ranks
  std::uint64_t tile = 0;      // of the contributions
  std::uint32_t chunk = 0;     // input chunk of the contributions
  std::uint32_t count = 0;     // contributions; 0: holds nothing
  std::uint32_t first = 0;     // first rank of the fold
  std::uint32_t last = 0;      // latest
  std::uint32_t producer = 0;  // the rank that completed it
  bool ordered = false;        // a left fold of consecutive ranks
  bool finished = false;

  static Value contribution(std::uint32_t rank, std::uint64_t mark, std::uint32_t chunk,
                            std::uint64_t tile) {
    return {mark, tile, chunk, 1, rank, rank, rank, true, false};
  }
};

// a (+) b, or nothing where they are not contributions of different ranks to the same element.
inline std::optional<Value> fold(const Value& a, const Value& b, bool exact_marks) {
  if (a.tile != b.tile || a.chunk != b.chunk || a.finished || b.finished) return std::nullopt;
  if (exact_marks && (a.ranks & b.ranks) != 0) return std::nullopt;
  Value folded = a;
  folded.ranks += b.ranks;
  folded.count += b.count;
  folded.ordered = a.ordered && b.count == 1 && b.first == a.last + 1;
  folded.last = b.last;
  return folded;
}

}  // namespace gyre
