// The planner's decisions for a communicator, by collective and size: made on rank 0, told to all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "plan/algorithm.hpp"

namespace gyre {

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  std::uint64_t slice_bytes = 0;  // the longest slice, a power of two; 0: as long as a slot

  bool operator==(const Choice&) const = default;
};

// Class c holds the messages of 2^(c-1)+1 to 2^c bytes, the last one also all that are larger.
inline constexpr int kSizeClasses = 41;
int size_class(std::uint64_t bytes);
inline std::uint64_t largest_of_class(int size_class) { return std::uint64_t{1} << size_class; }

struct Decision {
  Choice choice;
  float seconds = 0;  // predicted for the class's largest message; 0: not known

  bool operator==(const Decision&) const = default;
};

class Choices {
 public:
  // Schedules that fold in rank order and fit every world.
  Choices();

  // `fixed_order`: for calls whose contributions must be folded in rank order.
  const Decision& at(CallKind kind, bool fixed_order, int size_class) const {
    return table_[index_of(kind)][fixed_order ? 1 : 0][static_cast<std::size_t>(size_class)];
  }
  Decision& at(CallKind kind, bool fixed_order, int size_class) {
    return table_[index_of(kind)][fixed_order ? 1 : 0][static_cast<std::size_t>(size_class)];
  }

  // Predicted: between the largest messages of two classes on the line through them.
  double seconds(CallKind kind, bool fixed_order, std::uint64_t bytes) const;

  bool operator==(const Choices&) const = default;

 private:
  using Sizes = std::array<Decision, kSizeClasses>;
  std::array<std::array<Sizes, 2>, kPlannedKinds.size()> table_;
};

// "all_reduce: one_shot to 4K, tree@16K to 1M, ring", for people; where calls that need a fixed
// order of the fold go by other ones, these as well: "...; in rank order two_shot".
std::string describe(const Choices& choices, CallKind kind);

std::vector<std::byte> encode(const Choices& choices);
// Bounded; refuses anything encode() does not write.
Result<Choices> decode_choices(std::span<const std::byte> bytes);

}  // namespace gyre
