#include "comm/facts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "bootstrap/wire.hpp"

namespace gyre {
namespace {

constexpr std::size_t kMaxHostBytes = 256;
constexpr std::size_t kMaxDeviceBytes = 64;
constexpr std::size_t kMaxSettingsBytes = 16 << 10;
constexpr std::size_t kMaxFactsEndpointBytes = 4 << 10;
constexpr double kMostBytesPerSecond = 1e18;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

Result<PeerFacts> own_facts(const Settings& settings) {
  PeerFacts facts;
  facts.wire_version = kWireVersion;
  facts.pid = static_cast<std::uint64_t>(::getpid());
  std::array<char, kMaxHostBytes> host{};
  ::gethostname(host.data(), host.size() - 1);
  facts.host = host.data();
  facts.place = settings.host_id.empty() ? facts.host : settings.host_id;
  facts.place.resize(std::min(facts.place.size(), kMaxHostBytes));
  facts.shared_settings = shared_settings_text(settings);
  GYRE_TRY_ASSIGN(facts.endpoint, local_endpoint());
  return facts;
}

std::vector<std::byte> encode(const PeerFacts& facts) {
  WireWriter out;
  out.number(facts.wire_version);
  out.number(facts.pid);
  out.text(facts.host);
  out.text(facts.place);
  out.text(facts.shared_settings);
  out.number(facts.machine.cores);
  out.number(std::bit_cast<std::uint64_t>(facts.machine.nic_bytes_per_second));
  out.number(facts.device_kind);
  out.text(facts.device);
  out.sized(encode(facts.endpoint));
  return out.take();
}

Result<PeerFacts> decode_facts(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  PeerFacts facts;
  facts.wire_version = in.number<std::uint32_t>();
  // Of another version the rest may be laid out differently.
  if (!in.failed() && facts.wire_version != kWireVersion) return facts;
  facts.pid = in.number<std::uint64_t>();
  facts.host = in.text(kMaxHostBytes);
  facts.place = in.text(kMaxHostBytes);
  facts.shared_settings = in.text(kMaxSettingsBytes);
  facts.machine.cores = in.number<std::uint32_t>();
  facts.machine.nic_bytes_per_second = std::bit_cast<double>(in.number<std::uint64_t>());
  facts.device_kind = in.number<std::uint32_t>();
  facts.device = in.text(kMaxDeviceBytes);
  const auto endpoint = in.sized(kMaxFactsEndpointBytes);
  const bool plausible = facts.machine.nic_bytes_per_second >= 0 &&
                         facts.machine.nic_bytes_per_second < kMostBytesPerSecond &&
                         facts.device_kind >= gyreDeviceHost && facts.device_kind <= gyreDeviceHip;
  if (!in.complete() || !plausible)
    return Error{Status::internal, "a rank sent facts that cannot be read"};
  GYRE_TRY_ASSIGN(facts.endpoint, decode_endpoint(endpoint));
  return facts;
}

std::string rank_name(int rank, const PeerFacts& facts) {
  return fmt::format("rank {} (host {}, pid {})", rank, facts.host, facts.pid);
}

int ranks_per_host(std::span<const PeerFacts> facts) {
  const auto elsewhere = std::find_if(facts.begin(), facts.end(), [&](const PeerFacts& one) {
    return one.place != facts.front().place;
  });
  const auto size = static_cast<std::size_t>(elsewhere - facts.begin());
  if (size == 0 || facts.size() % size != 0) return 1;
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    const bool first = rank % size == 0;
    if (rank != 0 && (facts[rank].place == facts[rank - 1].place) == first) return 1;
  }
  return static_cast<int>(size);
}

Result<void> compare_facts(std::span<const PeerFacts> facts) {
  for (std::size_t rank = 1; rank < facts.size(); ++rank) {
    if (facts[rank].wire_version != facts[0].wire_version) {
      return Error{Status::invalid_usage,
                   fmt::format("Mismatched Gyre version detected: rank 0 speaks wire version {}, "
                               "rank {} version {}; use one build on all ranks",
                               facts[0].wire_version, rank, facts[rank].wire_version)};
    }
    if (facts[rank].shared_settings == facts[0].shared_settings) continue;
    const auto first = lines_of(facts[0].shared_settings);
    const auto other = lines_of(facts[rank].shared_settings);
    std::string difference;
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const std::string_view a = i < first.size() ? first[i] : "(absent)";
      const std::string_view b = i < other.size() ? other[i] : "(absent)";
      if (a != b) difference += fmt::format("; rank 0: {}, rank {}: {}", a, rank, b);
    }
    return Error{
        Status::invalid_usage,
        fmt::format("settings that all ranks must share differ{}; give every rank the same",
                    difference)};
  }
  return {};
}

}  // namespace gyre
