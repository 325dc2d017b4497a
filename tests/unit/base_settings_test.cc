#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/parse_value.hpp"
#include "base/settings.hpp"

namespace gyre {
namespace {

Result<Settings> parse(std::initializer_list<NamedValue> values) {
  const std::vector<NamedValue> all(values);
  return parse_settings(std::span<const NamedValue>(all));
}

// The error must name the variable, repeat the value and say what is allowed.
void expect_refused(const std::string& name, const std::string& value, const std::string& allowed) {
  const auto result = parse({{name, value}});
  ASSERT_FALSE(result) << name << "=" << value;
  EXPECT_EQ(result.error().status, Status::invalid_argument);
  EXPECT_NE(result.error().text.find(name), std::string::npos) << result.error().text;
  EXPECT_NE(result.error().text.find("\"" + value + "\""), std::string::npos)
      << result.error().text;
  EXPECT_NE(result.error().text.find(allowed), std::string::npos) << result.error().text;
}

TEST(ParseValue, Integers) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("0x10"), 16);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", "-", "+", "0x", "1e6", "1.5", " 1", "1 ", "abc", "--1", "1,000",
                          "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
}

TEST(ParseValue, Bytes) {
  EXPECT_EQ(parse_bytes("4MB"), 4 << 20);
  EXPECT_EQ(parse_bytes("64K"), 64 << 10);
  EXPECT_EQ(parse_bytes("64kib"), 64 << 10);
  EXPECT_EQ(parse_bytes("1g"), 1 << 30);
  EXPECT_EQ(parse_bytes("17B"), 17);
  EXPECT_EQ(parse_bytes("0x1b"), 0x1b);
  for (const char* bad :
       {"", "MB", "4 MB", "4MBB", "4bk", "4X", "1.5M", "1e6", "8388608T", "9223372036854775807K"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(ParseValue, BytesPrintAsTheyRead) {
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{1023}, std::int64_t{1024},
        std::int64_t{1536}, std::int64_t{64} << 20, std::int64_t{1} << 50, std::int64_t{3} << 41}) {
    EXPECT_EQ(parse_bytes(text_of_bytes(bytes)), bytes) << text_of_bytes(bytes);
  }
}

TEST(ParseValue, Seconds) {
  EXPECT_EQ(parse_milliseconds("2"), 2000);
  EXPECT_EQ(parse_milliseconds("0.25"), 250);
  EXPECT_EQ(parse_milliseconds("1.5s"), 1500);
  EXPECT_EQ(parse_milliseconds("20ms"), 20);
  EXPECT_EQ(parse_milliseconds("0.0001"), 1);
  for (const char* bad : {"", "s", "ms", "-1", "nan", "inf", "1e3", "1m", "2 s", "1e400"}) {
    EXPECT_FALSE(parse_milliseconds(bad)) << bad;
  }
}

TEST(Settings, DefaultsWithoutAnyVariable) {
  const auto result = parse({});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->slot_bytes, Settings{}.slot_bytes);
  EXPECT_EQ(result->init_timeout_ms, 120'000);
  EXPECT_FALSE(result->comm_blocking);
}

TEST(Settings, ReadsEveryKind) {
  const auto result = parse({{"GYRE_SLOT_BYTES", "1MB"},
                             {"GYRE_SLOTS", "8"},
                             {"GYRE_INIT_TIMEOUT", "0.5"},
                             {"GYRE_CHECK", "1"},
                             {"NCCL_COMM_BLOCKING", "0"},
                             {"GYRE_DEVICE", "HOST"},
                             {"NCCL_SOCKET_FAMILY", "af_inet6"},
                             {"NCCL_SOCKET_IFNAME", "^docker,lo"},
                             {"GYRE_PORT_RANGE", "7000-7003"},
                             {"NCCL_COMM_ID", "[::1]:4444"}});
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_EQ(result->slot_bytes, 1 << 20);
  EXPECT_EQ(result->slots, 8);
  EXPECT_EQ(result->init_timeout_ms, 500);
  EXPECT_TRUE(result->check);
  EXPECT_EQ(result->comm_blocking, false);
  EXPECT_EQ(result->device, "host");
  EXPECT_EQ(result->socket_family, "AF_INET6");
  EXPECT_EQ(result->socket_ifname, "^docker,lo");
  EXPECT_EQ(result->port_range, "7000-7003");
  EXPECT_EQ(result->comm_id, "[::1]:4444");
}

TEST(Settings, RefusesBadValuesByName) {
  for (const char* bad : {"abc", "-1", "1e6", "1", "65", "4MB"}) {
    expect_refused("GYRE_SLOTS", bad, "4 to 64");
  }
  for (const char* bad : {"abc", "-1", "1e6", "4095", "5000", "65M"}) {
    expect_refused("GYRE_SLOT_BYTES", bad, "4K to 64M, a multiple of 4K");
  }
  for (const char* bad : {"abc", "-1", "0"}) {
    expect_refused("GYRE_INIT_TIMEOUT", bad, "seconds");
  }
  for (const char* bad : {"yes", "2", "-1"}) expect_refused("GYRE_CHECK", bad, "0 or 1");
  expect_refused("NCCL_COMM_BLOCKING", "maybe", "0 or 1");
  expect_refused("GYRE_DEVICE", "tpu", "auto, host, cuda, hip");
  for (const char* bad : {"7000", "7003-7000", "0-5", "1-65536", "a-b"}) {
    expect_refused("GYRE_PORT_RANGE", bad, "first-last");
  }
  for (const char* bad : {"localhost", ":1", "host:0", "host:65536", "host:", "a:b:1", "[::1:5"}) {
    expect_refused("NCCL_COMM_ID", bad, "host:port");
  }
}

TEST(Settings, BytesThatMayBeUnset) {
  EXPECT_FALSE(parse({})->stream_bytes.has_value());
  EXPECT_FALSE(parse({{"GYRE_STREAM_BYTES", ""}})->stream_bytes.has_value());
  EXPECT_EQ(parse({{"GYRE_STREAM_BYTES", "0"}})->stream_bytes, 0);
  EXPECT_EQ(parse({{"GYRE_STREAM_BYTES", "2M"}})->stream_bytes, 2 << 20);
  for (const char* bad : {"-1", "2000T", "much"}) {
    expect_refused("GYRE_STREAM_BYTES", bad, "0 to 1024T");
  }
}

TEST(Settings, RefusesUnknownNamesOfOurs) {
  const auto near = parse({{"GYRE_SLOT_BYTE", "4K"}});
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().text,
            "GYRE_SLOT_BYTE is not a setting of Gyre; did you mean GYRE_SLOT_BYTES?");
  const auto far = parse({{"GYRE_UTTERLY_UNKNOWN", "1"}});
  ASSERT_FALSE(far);
  EXPECT_NE(far.error().text.find("GYRE_UTTERLY_UNKNOWN"), std::string::npos);
  EXPECT_TRUE(parse({{"NCCL_SOME_TUNING_OF_THEIRS", "x"}, {"PATH", "/bin"}}));
}

TEST(Settings, RefusesValuesThatContradictEachOther) {
  const auto result = parse({{"NCCL_MIN_NCHANNELS", "8"}, {"NCCL_MAX_NCHANNELS", "4"}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text.find("NCCL_MIN_NCHANNELS=8"), std::string::npos);
  EXPECT_NE(result.error().text.find("NCCL_MAX_NCHANNELS=4"), std::string::npos);
}

TEST(Settings, TheFirstOfANameCounts) {
  // The environment comes before the files, so that they never overwrite it.
  const auto result = parse({{"GYRE_SLOTS", "8"}, {"GYRE_SLOTS", "nonsense"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->slots, 8);
}

TEST(Settings, AnEmptyValueIsUnset) {
  for (const SettingRow& row : setting_table()) {
    const auto result = parse({{std::string(row.name), ""}});
    ASSERT_TRUE(result) << result.error().text;
    EXPECT_EQ(shared_settings_text(*result), shared_settings_text({}));
  }
  // What a file says counts then.
  EXPECT_EQ(parse({{"GYRE_SLOTS", ""}, {"GYRE_SLOTS", "8"}})->slots, 8);
  EXPECT_EQ(parse({{"NCCL_COMM_ID", ""}, {"NCCL_COMM_ID", "a:1"}})->comm_id, "a:1");
  EXPECT_FALSE(parse({{"GYRE_SLOT", ""}})) << "no setting at all";
}

TEST(Settings, EveryFallbackOfTheTableIsAllowed) {
  for (const SettingRow& row : setting_table()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.range.empty()) << row.name;
    if (row.fallback.empty()) continue;
    const auto result = parse({{std::string(row.name), std::string(row.fallback)}});
    EXPECT_TRUE(result) << row.name << "=" << row.fallback;
  }
}

TEST(Settings, SharedTextShowsDifferencesOnly) {
  const Settings defaults;
  Settings other;
  other.spin_us = 7;  // a matter of each rank
  EXPECT_EQ(shared_settings_text(defaults), shared_settings_text(other));
  other.slot_bytes = 1 << 20;
  EXPECT_NE(shared_settings_text(defaults), shared_settings_text(other));
  EXPECT_NE(shared_settings_text(other).find("GYRE_SLOT_BYTES=1M\n"), std::string::npos);
}

TEST(Configuration, LinesCommentsAndOddities) {
  const auto values = parse_configuration(
      "# comment\nNCCL_DEBUG=WARN\r\n\nno equals sign\n=nameless\n NCCL_X = y=z \nNCCL_DEBUG=INFO");
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0], (NamedValue{"NCCL_DEBUG", "WARN"}));
  EXPECT_EQ(values[1], (NamedValue{" NCCL_X ", " y=z "}));
  EXPECT_EQ(values[2], (NamedValue{"NCCL_DEBUG", "INFO"}));
}

}  // namespace
}  // namespace gyre
