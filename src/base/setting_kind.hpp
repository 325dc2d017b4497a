// The kinds of values that settings have. Private to the table in settings.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/settings.hpp"

namespace gyre::setting {

// An empty `field` marks a name that another part reads from the environment itself.
struct Flag {
  bool Settings::*field;
};
struct OptionalFlag {
  std::optional<bool> Settings::*field;
};
struct Integer {
  std::int64_t Settings::*field;
  std::int64_t min, max;
};
struct Bytes {
  std::int64_t Settings::*field;
  std::int64_t min, max, multiple;
};
struct OptionalBytes {
  std::optional<std::int64_t> Settings::*field;
  std::int64_t min, max;
};
struct Seconds {
  std::int64_t Settings::*field;
  std::int64_t min_ms, max_ms;
};
struct Choice {
  std::string Settings::*field;
  std::vector<std::string_view> options;
};
struct Text {
  std::string Settings::*field = nullptr;
  std::string_view form = "any text";
  bool (*valid)(std::string_view) = nullptr;
};
using Kind = std::variant<Flag, OptionalFlag, Integer, Bytes, OptionalBytes, Seconds, Choice, Text>;

// What is allowed, and how the kind is called, in words.
std::string range_of(const Kind& kind);
std::string_view type_of(const Kind& kind);

// The value in `settings`, in the form that apply() reads; "" where there is none.
std::string print(const Kind& kind, const Settings& settings);
// The same as a number: bytes, whole seconds, 0 or 1 for flags. None for words.
std::optional<std::int64_t> number_of(const Kind& kind, const Settings& settings);

// Reads `value` into `settings`; false if it is not one of the values allowed.
bool apply(const Kind& kind, Settings& settings, std::string_view value);

}  // namespace gyre::setting
