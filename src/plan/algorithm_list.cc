#include "plan/algorithm_list.hpp"

#include <fmt/format.h>

#include "plan/choice_list.hpp"

namespace gyre {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
// What Gyre has of each.
constexpr std::array<AlgorithmSet, kNames.size()> kMembers = {
    bit_of(Algorithm::ring) | bit_of(Algorithm::two_rings),
    bit_of(Algorithm::tree) | bit_of(Algorithm::double_tree) | bit_of(Algorithm::binomial),
    0,
    0,
    0,
    0,
    bit_of(Algorithm::bruck)};

AlgorithmSet set_of(const Listed& listed) {
  AlgorithmSet set = 0;
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    if ((listed.names & (1U << i)) != 0) set |= kMembers[i];
  }
  return listed.excluded ? kAllAlgorithms & ~set : set;
}

bool has_any_of(CallKind kind, AlgorithmSet set) {
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if ((set & bit_of(algorithm)) != 0 && schedule_of(kind, algorithm) != nullptr) return true;
  }
  return false;
}

Error none_left(std::string_view whom) {
  return {Status::invalid_usage,
          fmt::format("NCCL_ALGO leaves {} no algorithm that Gyre has; it has Ring, Tree and PAT, "
                      "and ways of its own where nothing, or only an exclusion (^), is said",
                      whom)};
}

}  // namespace

Result<AllowedAlgorithms> read_algorithm_list(std::string_view text) {
  GYRE_TRY_ASSIGN(const ChoiceList list, read_choice_list("NCCL_ALGO", "algorithm", kNames, text));
  AllowedAlgorithms allowed;
  allowed.fill(kAllAlgorithms);
  bool any = false;
  for (const CallKind kind : kListedFunctions) {
    const auto& listed = list[index_of(kind)];
    const AlgorithmSet set = listed ? set_of(*listed) : kAllAlgorithms;
    const bool left = has_any_of(kind, set);
    if (!left && listed->by_name) return none_left(name_of(kind));
    if (left) allowed[index_of(kind)] = set;
    any = any || left;
  }
  if (!any) return none_left("every function");
  return allowed;
}

}  // namespace gyre
