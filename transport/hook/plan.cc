#include "transport/hook/plan.hpp"

#include <fmt/format.h>

#include <charconv>

namespace gyre::hook {
namespace {

Error bad(std::string_view text, std::string_view why) {
  return {Status::invalid_argument,
          fmt::format("GYRE_HOOK=\"{}\": {}; allowed are trace:FILE, throttle:BYTES_PER_SECOND and "
                      "fault:KEY=NUMBER,... with rank, peer, drop, corrupt, truncate, close, "
                      "delay_ms",
                      text, why)};
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool assign(FaultPlan& plan, std::string_view key, std::uint64_t value) {
  constexpr std::uint64_t kMaxRank = 1U << 30;
  constexpr std::uint64_t kMaxDelayMs = 3'600'000;
  if (key == "drop") {
    plan.drop = value;
  } else if (key == "corrupt") {
    plan.corrupt = value;
  } else if (key == "truncate") {
    plan.truncate = value;
  } else if (key == "close") {
    plan.close = value;
  } else if (key == "rank" && value <= kMaxRank) {
    plan.rank = static_cast<int>(value);
  } else if (key == "peer" && value <= kMaxRank) {
    plan.peer = static_cast<int>(value);
  } else if (key == "delay_ms" && value <= kMaxDelayMs) {
    plan.delay = milliseconds(value);
  } else {
    return false;
  }
  return true;
}

Result<Plan> parse_fault(std::string_view all, std::string_view list) {
  FaultPlan plan;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(item.size() == list.size() ? item.size() : item.size() + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return bad(all, fmt::format("\"{}\" has no '='", item));
    const auto value = number(item.substr(equals + 1));
    if (!value || !assign(plan, item.substr(0, equals), *value)) {
      return bad(all, fmt::format("\"{}\" is not understood", item));
    }
  }
  return Plan(plan);
}

}  // namespace

Result<Plan> parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad(text, "no ':'");
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (rest.empty()) return bad(text, "nothing after ':'");
  if (kind == "trace") return Plan(TracePlan{std::string(rest)});
  if (kind == "fault") return parse_fault(text, rest);
  if (kind == "throttle") {
    const auto rate = number(rest);
    if (!rate || *rate == 0) return bad(text, "the rate is not a positive number");
    return Plan(ThrottlePlan{*rate});
  }
  return bad(text, fmt::format("unknown kind \"{}\"", kind));
}

}  // namespace gyre::hook
