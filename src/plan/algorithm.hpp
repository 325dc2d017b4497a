// The names of the catalogue's schedules, any collective's, and which calls they run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "collectives/catalogue.hpp"
#include "schedule/call.hpp"

namespace gyre {

enum class Algorithm : std::uint8_t {
  ring,
  one_shot,
  two_shot,
  direct,
  pairwise,
  star,
  two_rings,
  tree,
  double_tree,
  halving_doubling,
  recursive_doubling,
  bruck,
  binomial,
  hierarchical,
  hierarchical_tree,
};
inline constexpr int kAlgorithms = 15;
std::string_view name_of(Algorithm algorithm);

// "AllReduce" and "all_reduce" are one name: the text in lower case, without underscores.
std::string plain_name(std::string_view name);

inline constexpr std::size_t kCallKinds = 13;
constexpr std::size_t index_of(CallKind kind) { return static_cast<std::size_t>(kind); }

// The collective of the catalogue that a kind of call is; the v-variants and messages are none.
std::optional<CollectiveKind> collective_of(CallKind kind);

// The kinds that are one, in their order.
inline constexpr std::array kPlannedKinds = {
    CallKind::all_reduce,     CallKind::reduce,     CallKind::broadcast, CallKind::all_gather,
    CallKind::reduce_scatter, CallKind::all_to_all, CallKind::gather,    CallKind::scatter};

// The planned kind of that name, as plain_name() compares. invalid_usage: quotes the word, and
// names those that there are.
Result<CallKind> find_planned(std::string_view word);

// The entry of a planned kind, or null if the collective has no such schedule.
const CatalogueEntry* schedule_of(CallKind kind, Algorithm algorithm);

// A call's bytes as nccl-tests counts them: the larger of a rank's two buffers.
std::uint64_t message_bytes(CallKind kind, std::uint64_t bytes_of_count, std::uint32_t world);

}  // namespace gyre
