#include "plan/protocols.hpp"

#include <algorithm>

#include "plan/choice_list.hpp"

namespace gyre {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
constexpr std::uint32_t kLl = 1U << 0, kSimple = 1U << 2;

}  // namespace

Result<ShortForms> read_short_forms(std::string_view text) {
  GYRE_TRY_ASSIGN(const ChoiceList list, read_choice_list("NCCL_PROTO", "protocol", kNames, text));
  // What no list can name does what all-reduces do.
  const auto left_to = [&](std::size_t kind) {
    const bool has_name = std::any_of(kListedFunctions.begin(), kListedFunctions.end(),
                                      [&](CallKind named) { return index_of(named) == kind; });
    const auto& listed = list[has_name ? kind : index_of(CallKind::all_reduce)];
    if (!listed) return kLl | kSimple;
    return listed->excluded ? ~listed->names : listed->names;
  };
  if ((left_to(index_of(CallKind::all_reduce)) & (kLl | kSimple)) == 0) {
    return Error{Status::invalid_usage,
                 "NCCL_PROTO leaves AllReduce no protocol that host ranks have; they have LL, for "
                 "small messages, and Simple"};
  }
  ShortForms allowed{};
  for (std::size_t kind = 0; kind < allowed.size(); ++kind) {
    allowed[kind] = (left_to(kind) & kLl) != 0;
  }
  return allowed;
}

void limit_channels(std::int64_t least, std::int64_t most, AllowedAlgorithms& allowed) {
  AlgorithmSet& set = allowed[index_of(CallKind::all_reduce)];
  const AlgorithmSet one = bit_of(Algorithm::ring), two = bit_of(Algorithm::two_rings);
  // A list of NCCL_ALGO's names both or neither.
  if ((set & one) == 0 || (set & two) == 0) return;
  if (most < 2) set &= ~two;
  if (least >= 2) set &= ~one;
}

}  // namespace gyre
