#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "comm/facts.hpp"

namespace gyre {
namespace {

PeerFacts host_facts() {
  PeerFacts facts;
  facts.wire_version = kWireVersion;
  facts.pid = 0x123456789abcdef0;
  facts.host = "host";
  facts.place = "place";
  facts.shared_settings = "GYRE_SLOTS=4\n";
  facts.machine = {8, 12.5e9};
  facts.endpoint.network = 7;
  Address link_local = Address::any(AF_INET6).with_port(9);
  link_local.scope = 3;
  facts.endpoint.addresses = {Address::any(AF_INET).with_port(80), link_local};
  return facts;
}

PeerFacts device_facts() {
  PeerFacts facts = host_facts();
  facts.device_kind = gyreDeviceHip;
  facts.device = std::string("\0\xff any bytes", 12);
  return facts;
}

// The longest that are written, and the shortest.
std::vector<PeerFacts> all_facts() {
  PeerFacts longest = device_facts();
  longest.host = longest.place = std::string(256, 'h');
  longest.device = std::string(64, 'd');
  longest.shared_settings = std::string(16 << 10, 's');
  longest.endpoint.addresses.resize(kMaxEndpointAddresses, Address::any(AF_INET6));
  PeerFacts shortest;
  shortest.wire_version = kWireVersion;
  return {host_facts(), device_facts(), longest, shortest};
}

bool is_refused(const PeerFacts& facts) {
  return decode_facts(encode(facts)).status() == Status::internal;
}

TEST(Facts, AreReadAsTheyWereWritten) {
  for (const PeerFacts& facts : all_facts()) {
    const auto read = decode_facts(encode(facts));
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, facts);
  }
}

TEST(Facts, NothingShorterIsRead) {
  for (const PeerFacts& facts : all_facts()) {
    const std::vector<std::byte> whole = encode(facts);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(decode_facts(std::span(whole).first(size))) << size << " of " << whole.size();
    }
  }
}

TEST(Facts, NothingLongerIsRead) {
  for (const PeerFacts& facts : all_facts()) {
    std::vector<std::byte> longer = encode(facts);
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode_facts(longer));
  }
}

TEST(Facts, TextsHaveBounds) {
  for (std::string PeerFacts::*text : {&PeerFacts::host, &PeerFacts::place}) {
    PeerFacts facts = host_facts();
    facts.*text = std::string(257, 'h');
    EXPECT_TRUE(is_refused(facts));
  }
  PeerFacts facts = host_facts();
  facts.shared_settings = std::string((16 << 10) + 1, 's');
  EXPECT_TRUE(is_refused(facts));
  facts = device_facts();
  facts.device = std::string(65, 'd');
  EXPECT_TRUE(is_refused(facts));
}

TEST(Facts, WhatCannotBeIsRefused) {
  for (const double speed : {-1.0, 1e18, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    PeerFacts facts = host_facts();
    facts.machine.nic_bytes_per_second = speed;
    EXPECT_TRUE(is_refused(facts)) << speed;
  }
  for (const std::uint32_t kind : {std::uint32_t{gyreDeviceAuto}, gyreDeviceHip + 1U, ~0U}) {
    PeerFacts facts = device_facts();
    facts.device_kind = kind;
    EXPECT_TRUE(is_refused(facts)) << kind;
  }
}

// Whatever one byte becomes, what is read is what would have been written.
TEST(Facts, MutatedBytesAreRefusedOrOtherFacts) {
  const PeerFacts facts = device_facts();
  const std::vector<std::byte> good = encode(facts);
  int read = 0, refused = 0;
  for (std::size_t at = sizeof facts.wire_version; at < good.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::vector<std::byte> bytes = good;
      bytes[at] ^= static_cast<std::byte>(change);
      const auto decoded = decode_facts(bytes);
      (decoded ? read : refused) += 1;
      if (!decoded) continue;
      EXPECT_EQ(encode(*decoded), bytes) << "byte " << at << ", change " << change;
      EXPECT_NE(*decoded, facts) << "byte " << at << ", change " << change;
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

// Later versions may write anything behind their number.
TEST(Facts, OfAnotherVersionOnlyThatIsRead) {
  PeerFacts other = host_facts();
  other.wire_version = kWireVersion + 1;
  std::vector<std::byte> bytes = encode(other);
  bytes.resize(9);
  const auto read = decode_facts(bytes);
  ASSERT_TRUE(read);
  PeerFacts only_version;
  only_version.wire_version = kWireVersion + 1;
  EXPECT_EQ(*read, only_version);
  const auto compared = compare_facts(std::vector{host_facts(), *read});
  ASSERT_FALSE(compared);
  EXPECT_NE(compared.error().text.find("version"), std::string::npos) << compared.error().text;
}

}  // namespace
}  // namespace gyre
