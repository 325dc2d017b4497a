#include "base/setting_kind.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/parse_value.hpp"

namespace gyre::setting {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

bool store(std::int64_t& field, std::optional<std::int64_t> value, std::int64_t min,
           std::int64_t max) {
  if (!value || *value < min || *value > max) return false;
  field = *value;
  return true;
}

std::optional<bool> parse_flag(std::string_view value) {
  if (value != "0" && value != "1") return std::nullopt;
  return value == "1";
}

bool store_choice(const Choice& kind, Settings& settings, std::string_view value) {
  for (const std::string_view option : kind.options) {
    if (lower_case(option) == lower_case(value)) {
      settings.*kind.field = option;
      return true;
    }
  }
  return false;
}

bool store_text(const Text& kind, Settings& settings, std::string_view value) {
  if (kind.field == nullptr) return true;
  if (kind.valid != nullptr && !kind.valid(value)) return false;
  settings.*kind.field = value;
  return true;
}

}  // namespace

std::string range_of(const Kind& kind) {
  return std::visit(
      Overloaded{
          [](const Flag&) -> std::string { return "0 or 1"; },
          [](const OptionalFlag&) -> std::string { return "0 or 1"; },
          [](const Integer& k) { return fmt::format("{} to {}", k.min, k.max); },
          [](const Bytes& k) {
            auto text = fmt::format("{} to {}", text_of_bytes(k.min), text_of_bytes(k.max));
            if (k.multiple > 1)
              text += fmt::format(", a multiple of {}", text_of_bytes(k.multiple));
            return text;
          },
          [](const OptionalBytes& k) {
            return fmt::format("{} to {}", text_of_bytes(k.min), text_of_bytes(k.max));
          },
          [](const Seconds& k) {
            return fmt::format("{} to {} seconds", text_of_milliseconds(k.min_ms),
                               text_of_milliseconds(k.max_ms));
          },
          [](const Choice& k) { return fmt::format("{}", fmt::join(k.options, ", ")); },
          [](const Text& k) { return std::string(k.form); },
      },
      kind);
}

std::string_view type_of(const Kind& kind) {
  constexpr std::array<std::string_view, 8> kNames = {"flag",  "flag",    "integer", "bytes",
                                                      "bytes", "seconds", "choice",  "text"};
  static_assert(kNames.size() == std::variant_size_v<Kind>);
  return kNames[kind.index()];
}

std::string print(const Kind& kind, const Settings& settings) {
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  return std::visit(
      Overloaded{
          [&](const Flag& k) { return flag(settings.*k.field); },
          [&](const OptionalFlag& k) {
            return (settings.*k.field) ? flag(*(settings.*k.field)) : std::string();
          },
          [&](const Integer& k) { return fmt::format("{}", settings.*k.field); },
          [&](const Bytes& k) { return text_of_bytes(settings.*k.field); },
          [&](const OptionalBytes& k) {
            return (settings.*k.field) ? text_of_bytes(*(settings.*k.field)) : std::string();
          },
          [&](const Seconds& k) { return text_of_milliseconds(settings.*k.field); },
          [&](const Choice& k) { return settings.*k.field; },
          [&](const Text& k) { return k.field != nullptr ? settings.*k.field : std::string(); },
      },
      kind);
}

bool apply(const Kind& kind, Settings& settings, std::string_view value) {
  return std::visit(Overloaded{
                        [&](const Flag& k) {
                          const auto flag = parse_flag(value);
                          if (flag) settings.*k.field = *flag;
                          return flag.has_value();
                        },
                        [&](const OptionalFlag& k) {
                          settings.*k.field = parse_flag(value);
                          return (settings.*k.field).has_value();
                        },
                        [&](const Integer& k) {
                          return store(settings.*k.field, parse_integer(value), k.min, k.max);
                        },
                        [&](const Bytes& k) {
                          const auto bytes = parse_bytes(value);
                          return bytes && *bytes % k.multiple == 0 &&
                                 store(settings.*k.field, bytes, k.min, k.max);
                        },
                        [&](const OptionalBytes& k) {
                          std::int64_t given = 0;
                          if (!store(given, parse_bytes(value), k.min, k.max)) return false;
                          settings.*k.field = given;
                          return true;
                        },
                        [&](const Seconds& k) {
                          return store(settings.*k.field, parse_milliseconds(value), k.min_ms,
                                       k.max_ms);
                        },
                        [&](const Choice& k) { return store_choice(k, settings, value); },
                        [&](const Text& k) { return store_text(k, settings, value); },
                    },
                    kind);
}

std::optional<std::int64_t> number_of(const Kind& kind, const Settings& settings) {
  using Number = std::optional<std::int64_t>;
  return std::visit(Overloaded{
                        [&](const Flag& k) { return Number(settings.*k.field ? 1 : 0); },
                        [&](const OptionalFlag& k) { return Number(settings.*k.field); },
                        [&](const Integer& k) { return Number(settings.*k.field); },
                        [&](const Bytes& k) { return Number(settings.*k.field); },
                        [&](const OptionalBytes& k) { return Number(settings.*k.field); },
                        [&](const Seconds& k) {
                          const std::int64_t milliseconds = settings.*k.field;
                          return milliseconds % 1000 == 0 ? Number(milliseconds / 1000) : Number();
                        },
                        [&](const auto&) { return Number(); },
                    },
                    kind);
}

}  // namespace gyre::setting
