// Values of the command line: ranges, times and rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre::tools {

// "8", "2,3,8" or "8..1024": whole numbers above 0. A range goes by doublings, its last value
// included.
std::optional<std::vector<std::uint32_t>> parse_ranks(std::string_view text);

// The same of sizes ("1K..1G"), whose ranges go by fourfolds.
std::optional<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

// "64M": bytes, at least one.
std::optional<std::int64_t> parse_size(std::string_view text);

// "5us", "1.5ms", "300ns", "2s", "0": seconds.
std::optional<double> parse_seconds(std::string_view text);

// "25GB/s", "200Gb/s", "800MiB/s" (decimal units but for the i; b is bits, "/s" may be left out):
// bytes per second, above 0.
std::optional<double> parse_rate(std::string_view text);

// "12.3 us", with a unit that suits.
std::string seconds_text(double seconds);

}  // namespace gyre::tools
