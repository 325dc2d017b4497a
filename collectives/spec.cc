#include "collectives/spec.hpp"

#include <fmt/format.h>

namespace gyre {

std::string_view name_of(CollectiveKind kind) {
  constexpr std::string_view kNames[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                         "reduce",     "all_to_all",     "gather",     "scatter",
                                         "barrier",    "message"};
  return kNames[static_cast<int>(kind)];
}

bool is_rooted(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == broadcast || kind == reduce || kind == gather || kind == scatter ||
         kind == message;
}

bool is_reduction(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == all_reduce || kind == reduce_scatter || kind == reduce;
}

bool has_in_place(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind != all_to_all && kind != barrier && kind != message;
}

Result<void> CollectiveSpecification::check_shape(const Program& program) const {
  using enum CollectiveKind;
  const std::uint32_t in = program.input_chunks, out = program.output_chunks;
  const std::uint32_t n = collective_.ranks;
  bool fits = in == out;
  if (collective_.kind == reduce_scatter || collective_.kind == scatter) fits = in == n && out == 1;
  if (collective_.kind == all_gather || collective_.kind == gather) fits = in == 1 && out == n;
  if (collective_.kind == all_to_all) fits = in == n && out == n;
  if (fits) return {};
  return Error{Status::invalid_argument,
               fmt::format("{} of {} ranks cannot be cut into {} input and {} output chunks",
                           name_of(collective_.kind), n, in, out)};
}

bool CollectiveSpecification::has_input(std::uint32_t rank) const {
  using enum CollectiveKind;
  const bool only_root =
      collective_.kind == broadcast || collective_.kind == scatter || collective_.kind == message;
  return !only_root || rank == collective_.root;
}

bool CollectiveSpecification::has_output(std::uint32_t rank) const {
  using enum CollectiveKind;
  if (collective_.kind == message) return rank == collective_.peer;
  const bool only_root = collective_.kind == reduce || collective_.kind == gather;
  return !only_root || rank == collective_.root;
}

Wanted CollectiveSpecification::output(std::uint32_t rank, std::uint32_t chunk) const {
  using enum CollectiveKind;
  const auto folded = [](std::uint32_t index) { return Wanted{.everyone = true, .chunk = index}; };
  const auto from = [](std::uint32_t source, std::uint32_t index) {
    return Wanted{.rank = source, .chunk = index};
  };
  switch (collective_.kind) {
    case all_reduce:
    case reduce:
      return folded(chunk);
    case reduce_scatter:
      return folded(rank);
    case all_gather:
    case gather:
      return from(chunk, 0);
    case barrier:
      break;
    case broadcast:
    case message:
      return from(collective_.root, chunk);
    case all_to_all:
      return from(chunk, rank);
    case scatter:
      return from(collective_.root, rank);
  }
  return {};
}

std::optional<std::uint32_t> CollectiveSpecification::in_place(std::uint32_t rank,
                                                               std::uint32_t chunk) const {
  using enum CollectiveKind;
  const bool at_root = rank == collective_.root;
  switch (collective_.kind) {
    case all_reduce:
      return chunk;
    case broadcast:
    case reduce:
      if (!at_root) return std::nullopt;
      return chunk;
    case reduce_scatter:
      if (chunk != rank) return std::nullopt;
      return 0;
    case scatter:
      if (!at_root || chunk != rank) return std::nullopt;
      return 0;
    case all_gather:
      return rank;
    case gather:
      if (!at_root) return std::nullopt;
      return rank;
    case all_to_all:
    case barrier:
    case message:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace gyre
