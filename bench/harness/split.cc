#include "bench/harness/split.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "bench/harness/failure.hpp"

namespace gyre::bench {
namespace {

std::optional<int> parse_number(std::string_view text, int base) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (base == 0 && text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
    text.remove_prefix(2);
    base = 2;
  }
  const std::string copy(text);
  char* end = nullptr;
  const long value = std::strtol(copy.c_str(), &end, base);
  if (copy.empty() || *end != '\0' || value < 0 || value > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return static_cast<int>(value);
}

struct Rule {
  std::string_view word;
  int (*apply)(int process, int value);
};

int apply_and(int process, int value) { return process & value; }
int apply_or(int process, int value) { return process | value; }
int apply_mod(int process, int value) { return process % value; }
int apply_div(int process, int value) { return process / value; }

constexpr std::array kRules{
    Rule{"AND", apply_and}, Rule{"&", apply_and}, Rule{"OR", apply_or},   Rule{"|", apply_or},
    Rule{"MOD", apply_mod}, Rule{"%", apply_mod}, Rule{"DIV", apply_div}, Rule{"/", apply_div},
};

}  // namespace

int split_colour(int process, std::string_view mask, std::string_view rule) {
  if (!mask.empty()) {
    const auto value = parse_number(mask, 16);
    if (value) return process & *value;
    throw Failure(ExitCode::usage,
                  fmt::format("NCCL_TESTS_SPLIT_MASK: '{}' is not a hexadecimal number", mask));
  }
  if (rule.empty()) return 0;
  for (const Rule& known : kRules) {
    if (rule.size() <= known.word.size() ||
        strncasecmp(rule.data(), known.word.data(), known.word.size()) != 0) {
      continue;
    }
    const auto value = parse_number(rule.substr(known.word.size()), 0);
    const bool divides = known.apply == apply_mod || known.apply == apply_div;
    if (value && (*value > 0 || !divides)) return known.apply(process, *value);
  }
  throw Failure(ExitCode::usage,
                fmt::format("NCCL_TESTS_SPLIT: '{}' is not AND, OR, MOD or DIV (& | % /) and a "
                            "number",
                            rule));
}

}  // namespace gyre::bench
