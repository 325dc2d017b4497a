#include "plan/algorithm_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/parse_value.hpp"

namespace gyre {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::uint32_t kRing =
    1;  // the only one of these that Gyre has; its direct ones have no name
constexpr std::uint32_t kAny = (1U << kNames.size()) - 1;

constexpr std::array kFunctions = {CallKind::broadcast, CallKind::reduce, CallKind::all_gather,
                                   CallKind::reduce_scatter, CallKind::all_reduce};

// Cuts the text before the first `separator` off the front.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

Result<std::uint32_t> read_names(std::string_view list) {
  const bool excluded = list.starts_with('^');
  if (excluded) list.remove_prefix(1);
  std::uint32_t set = 0;
  do {
    const std::string_view word = take(list, ',');
    const auto found = std::find_if(kNames.begin(), kNames.end(), [&](std::string_view name) {
      return lower_case(name) == lower_case(word);
    });
    if (found == kNames.end()) {
      return Error{Status::invalid_usage,
                   fmt::format("NCCL_ALGO: \"{}\" is no algorithm; known are {}", word,
                               fmt::join(kNames, ", "))};
    }
    set |= 1U << (found - kNames.begin());
  } while (!list.empty());
  return excluded ? kAny & ~set : set;
}

Result<CallKind> read_function(std::string_view word) {
  for (const CallKind kind : kFunctions) {
    if (lower_case(name_of(kind)) == lower_case(word)) return kind;
  }
  std::array<std::string_view, kFunctions.size()> names;
  std::transform(kFunctions.begin(), kFunctions.end(), names.begin(),
                 [](CallKind kind) { return name_of(kind); });
  return Error{Status::invalid_usage, fmt::format("NCCL_ALGO: \"{}\" is no function; known are {}",
                                                  word, fmt::join(names, ", "))};
}

}  // namespace

Result<std::uint32_t> read_algorithm_list(std::string_view text) {
  std::array<std::uint32_t, kFunctions.size()> allowed;
  allowed.fill(kAny);
  while (!text.empty()) {
    std::string_view entry = take(text, ';');
    std::optional<CallKind> only;
    if (entry.find(':') != std::string_view::npos) {
      GYRE_TRY_ASSIGN(only, read_function(take(entry, ':')));
    }
    GYRE_TRY_ASSIGN(const std::uint32_t set, read_names(entry));
    for (std::size_t i = 0; i < kFunctions.size(); ++i) {
      if (!only || *only == kFunctions[i]) allowed[i] = set;
    }
  }
  std::uint32_t ring_only = 0;
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    if ((allowed[i] & kRing) == 0) {
      return Error{Status::invalid_usage,
                   fmt::format("NCCL_ALGO leaves {} no algorithm that Gyre has; it has Ring, and "
                               "ways of its own where Ring is not the only one allowed",
                               name_of(kFunctions[i]))};
    }
    if (allowed[i] == kRing) ring_only |= bit_of(kFunctions[i]);
  }
  return ring_only;
}

}  // namespace gyre
