// The grammar of NCCL_ALGO and NCCL_PROTO.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "plan/algorithm.hpp"

namespace gyre {

// The functions that such lists speak of.
inline constexpr std::array kListedFunctions = {CallKind::broadcast, CallKind::reduce,
                                                CallKind::all_gather, CallKind::reduce_scatter,
                                                CallKind::all_reduce};

// What a list says of a function.
struct Listed {
  std::uint32_t names = 0;  // by bit
  bool excluded = false;    // these, instead of nothing but these
  bool by_name = false;     // in an entry that names the function
};
using ChoiceList = std::array<std::optional<Listed>, kCallKinds>;

// Reads "[function:][^]name,name;...": for each function (all of them without a name; later entries
// win) the names allowed, or with ^ those excluded. Names and functions in any case.
// invalid_usage: an unknown name, which the text quotes after `setting`; `what` a name is.
Result<ChoiceList> read_choice_list(std::string_view setting, std::string_view what,
                                    std::span<const std::string_view> names, std::string_view text);

}  // namespace gyre
