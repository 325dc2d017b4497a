#include "plan/protocols.hpp"

#include "plan/choice_list.hpp"

namespace gyre {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
constexpr std::uint32_t kLl = 1U << 0, kSimple = 1U << 2;

}  // namespace

Result<bool> allows_short_form(std::string_view text) {
  GYRE_TRY_ASSIGN(const ChoiceList list, read_choice_list("NCCL_PROTO", "protocol", kNames, text));
  const auto& listed = list[index_of(CallKind::all_reduce)];
  if (!listed) return true;
  const std::uint32_t left = listed->excluded ? ~listed->names : listed->names;
  if ((left & (kLl | kSimple)) == 0) {
    return Error{Status::invalid_usage,
                 "NCCL_PROTO leaves AllReduce no protocol that host ranks have; they have LL, for "
                 "small messages, and Simple"};
  }
  return (left & kLl) != 0;
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
