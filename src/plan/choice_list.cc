#include "plan/choice_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/parse_value.hpp"

namespace gyre {
namespace {

// Cuts the text before the first `separator` off the front.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

// The place of a word among names, in any case; error: what it is not.
Result<std::size_t> find_word(std::string_view setting, std::string_view what,
                              std::span<const std::string_view> names, std::string_view word) {
  const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
    return lower_case(name) == lower_case(word);
  });
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return Error{Status::invalid_usage, fmt::format("{}: \"{}\" is no {}; known are {}", setting,
                                                  word, what, fmt::join(names, ", "))};
}

}  // namespace

Result<ChoiceList> read_choice_list(std::string_view setting, std::string_view what,
                                    std::span<const std::string_view> names,
                                    std::string_view text) {
  std::vector<std::string_view> functions;
  for (const CallKind kind : kListedFunctions) functions.push_back(name_of(kind));
  ChoiceList list;
  while (!text.empty()) {
    std::string_view entry = take(text, ';');
    std::optional<CallKind> only;
    if (entry.find(':') != std::string_view::npos) {
      GYRE_TRY_ASSIGN(const std::size_t place,
                      find_word(setting, "function", functions, take(entry, ':')));
      only = kListedFunctions[place];
    }
    Listed listed{0, entry.starts_with('^'), only.has_value()};
    if (listed.excluded) entry.remove_prefix(1);
    do {
      GYRE_TRY_ASSIGN(const std::size_t name, find_word(setting, what, names, take(entry, ',')));
      listed.names |= 1U << name;
    } while (!entry.empty());
    for (const CallKind kind : kListedFunctions) {
      if (!only || *only == kind) list[index_of(kind)] = listed;
    }
  }
  return list;
}

}  // namespace gyre
