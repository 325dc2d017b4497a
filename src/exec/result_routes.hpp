// The ways of results, by what makes calls alike: kind and size.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/result_route.hpp"
#include "schedule/call_kind.hpp"

namespace gyre {

// How many bytes of results a launch stored, and how long its folds and copies took altogether:
// results that stay in the caches push out what other steps then miss.
struct ResultMeter {
  std::uint64_t bytes = 0;
  Ticks ticks = 0;
};

class ResultRoutes {
 public:
  // Smaller results lie in the caches afterwards whoever wrote them; of larger ones no cache holds
  // enough to matter.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 14;
  static constexpr std::uint64_t kEndBytes = std::uint64_t{1} << 25;
  // From here on results go past the caches until something else is known.
  static constexpr std::uint64_t kPastBytes = std::uint64_t{1} << 20;

  ResultRoutes() {
    for (auto& kind : routes_) {
      for (int i = kFirst; i < kEnd; ++i) {
        const bool past = (std::uint64_t{1} << i) >= kPastBytes;
        kind[static_cast<std::size_t>(i - kFirst)] =
            ResultRoute(past ? ResultRoute::Way::past : ResultRoute::Way::through);
      }
    }
  }

  // Of calls of the kind with results of `bytes`; null where it is not measured.
  ResultRoute* of(CallKind kind, std::uint64_t bytes) {
    if (bytes < kLeastBytes || bytes >= kEndBytes) return nullptr;
    const auto size = static_cast<std::size_t>(std::bit_width(bytes) - 1 - kFirst);
    return &routes_[static_cast<std::size_t>(kind)][size];
  }

 private:
  static constexpr int kFirst = std::bit_width(kLeastBytes) - 1;
  static constexpr int kEnd = std::bit_width(kEndBytes) - 1;
  static constexpr std::size_t kKinds = static_cast<std::size_t>(CallKind::reduce_scatter_v) + 1;

  std::array<std::array<ResultRoute, static_cast<std::size_t>(kEnd - kFirst)>, kKinds> routes_;
};

}  // namespace gyre
