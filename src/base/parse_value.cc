#include "base/parse_value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace gyre {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The power of 1024 that a unit stands for.
std::optional<int> power_of(std::string_view unit) {
  const std::string lower = lower_case(unit);
  if (lower.empty() || lower == "b") return 0;
  const std::size_t power = std::string_view("kmgt").find(lower[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib") return std::nullopt;
  return static_cast<int>(power) + 1;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, magnitude, hexadecimal ? 16 : 10);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  if (magnitude > static_cast<std::uint64_t>(kMax)) return std::nullopt;
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::size_t digits =
      hexadecimal ? text.size() : std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer(text.substr(0, digits));
  const auto power = power_of(text.substr(digits));
  if (!number || !power) return std::nullopt;
  const std::int64_t unit = std::int64_t{1} << (10 * *power);
  if (*number > kMax / unit) return std::nullopt;
  return *number * unit;
}

std::optional<std::int64_t> parse_milliseconds(std::string_view text) {
  double scale = 1000;
  if (text.ends_with("ms")) {
    scale = 1;
    text.remove_suffix(2);
  } else if (text.ends_with("s")) {
    text.remove_suffix(1);
  }
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  const double scaled = std::ceil(number * scale);
  // 2^53: beyond it a double no longer counts single milliseconds.
  if (!std::isfinite(scaled) || scaled < 0 || scaled > 9007199254740992.0) return std::nullopt;
  return static_cast<std::int64_t>(scaled);
}

std::optional<HostText> parse_host_text(std::string_view text) {
  constexpr std::size_t kLongestName = 253;  // of the domain name system
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_integer(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > kLongestName) return std::nullopt;
  if (host.find_first_of("[] /") != std::string_view::npos) return std::nullopt;
  if (!bracketed && host.find(':') != std::string_view::npos) return std::nullopt;
  return HostText{std::string(host), static_cast<std::uint16_t>(*port)};
}

std::string text_of_bytes(std::int64_t bytes) {
  constexpr std::string_view kUnits = "KMGT";
  int power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < 4) {
    bytes /= 1024;
    ++power;
  }
  if (power == 0) return fmt::format("{}", bytes);
  return fmt::format("{}{}", bytes, kUnits[static_cast<std::size_t>(power - 1)]);
}

std::string text_of_milliseconds(std::int64_t milliseconds) {
  return fmt::format("{}", static_cast<double>(milliseconds) / 1000.0);
}

}  // namespace gyre
