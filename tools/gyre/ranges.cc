#include "tools/gyre/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/parse_value.hpp"

namespace gyre::tools {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 50;

// Numbers of a list of single values and ranges; `parse` reads one, ranges multiply by `factor`.
template <typename Number, typename Parse>
std::optional<std::vector<Number>> parse_list(std::string_view text, std::int64_t most,
                                              std::int64_t factor, const Parse& parse) {
  std::vector<Number> numbers;
  const auto one = [&](std::string_view part) -> std::optional<std::int64_t> {
    const std::optional<std::int64_t> value = parse(part);
    return value && *value > 0 && *value <= most ? value : std::nullopt;
  };
  for (bool more = true; more;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    more = comma != text.size();
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t dots = part.find("..");
    const auto first = one(part.substr(0, dots));
    const auto last = dots == part.npos ? first : one(part.substr(dots + 2));
    if (!first || !last || *last < *first) return std::nullopt;
    for (std::int64_t value = *first; value < *last; value *= factor) {
      numbers.push_back(static_cast<Number>(value));
    }
    numbers.push_back(static_cast<Number>(*last));
  }
  return numbers;
}

struct Quantity {
  double number = 0;
  std::string_view unit;
};

std::optional<Quantity> parse_quantity(std::string_view text) {
  Quantity quantity;
  const char* end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, quantity.number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(quantity.number) || quantity.number < 0) {
    return std::nullopt;
  }
  quantity.unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  return quantity;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> parse_ranks(std::string_view text) {
  constexpr std::int64_t kMostRanks = 65'535;
  return parse_list<std::uint32_t>(text, kMostRanks, 2, parse_integer);
}

std::optional<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
  return parse_list<std::uint64_t>(text, kMostSize, 4, parse_bytes);
}

std::optional<double> parse_seconds(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty() && quantity->number == 0) return 0;
  struct Unit {
    std::string_view name;
    double seconds;
  };
  for (const Unit& unit : {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}}) {
    if (quantity->unit == unit.name) return quantity->number * unit.seconds;
  }
  return std::nullopt;
}

std::optional<double> parse_rate(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  const auto quantity = parse_quantity(text);
  if (!quantity || quantity->number == 0) return std::nullopt;
  std::string_view unit = quantity->unit;
  if (!unit.ends_with('B') && !unit.ends_with('b')) return std::nullopt;
  const double bytes = unit.ends_with('B') ? 1 : 1.0 / 8;
  unit.remove_suffix(1);
  const bool binary = unit.ends_with('i');
  if (binary) unit.remove_suffix(1);
  constexpr std::string_view kPrefixes = "KMGT";
  if (unit.size() > 1 || (binary && unit.empty())) return std::nullopt;
  const std::size_t power = unit.empty() ? 0 : kPrefixes.find(unit[0]) + 1;
  if (!unit.empty() && power == 0) return std::nullopt;
  return quantity->number * bytes * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes && *bytes >= 1 ? bytes : std::nullopt;
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.4g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

}  // namespace gyre::tools
