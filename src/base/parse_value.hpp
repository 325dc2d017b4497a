// Strict parsers of single values: the whole text must be a value, or there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gyre {

// Decimal, 0x hexadecimal, with an optional sign. No value if it does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

// An integer with an optional unit K, M, G, T (also KB, KiB, ..., any case, powers of 1024) or B.
std::optional<std::int64_t> parse_bytes(std::string_view text);

// Seconds, fractions allowed ("0.25"), with an optional "s", or "ms"; as milliseconds, rounded up.
std::optional<std::int64_t> parse_milliseconds(std::string_view text);

// "host:port", "1.2.3.4:port" or "[v6]:port" (the host without brackets), port 1 to 65535.
struct HostText {
  std::string host;
  std::uint16_t port = 0;
};
std::optional<HostText> parse_host_text(std::string_view text);

// "4M", "1500": the shortest form that parse_bytes reads back.
std::string text_of_bytes(std::int64_t bytes);
// "120", "0.25": in seconds.
std::string text_of_milliseconds(std::int64_t milliseconds);

std::string lower_case(std::string_view text);

}  // namespace gyre
