#include "bench/harness/sizes.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

namespace gyre::bench {
namespace {

std::optional<double> unit_of(std::string_view suffix) {
  if (suffix.empty()) return 1.0;
  double unit = 0;
  switch (suffix.front()) {
    case 'k':
    case 'K':
      unit = 1024.0;
      break;
    case 'm':
    case 'M':
      unit = 1024.0 * 1024.0;
      break;
    case 'g':
    case 'G':
      unit = 1024.0 * 1024.0 * 1024.0;
      break;
    default:
      return std::nullopt;
  }
  suffix.remove_prefix(1);
  if (suffix.empty() || suffix == "B" || suffix == "b" || suffix == "iB") return unit;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return std::nullopt;
  const auto unit = unit_of(std::string_view(end));
  if (!unit) return std::nullopt;
  const double bytes = number * *unit;
  if (!(bytes >= 0) || bytes >= 9.2e18) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

std::optional<std::size_t> Sweep::next(std::size_t size) const {
  if (factor >= 2) {
    if (size == 0 || size > last / factor) return std::nullopt;
    return size * factor;
  }
  if (step == 0 || size >= last || last - size < step) return std::nullopt;
  return size + step;
}

}  // namespace gyre::bench
