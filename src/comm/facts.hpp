// What every rank tells all others when they meet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/status.hpp"
#include "bootstrap/interfaces.hpp"
#include "gyre/plugin.h"
#include "plan/machine_facts.hpp"

namespace gyre {

struct PeerFacts {
  std::uint32_t wire_version = 0;  // of everything Gyre sends between ranks
  std::uint64_t pid = 0;
  std::string host;
  std::string place;            // ranks with the same share a host: NCCL_HOSTID or its name
  std::string shared_settings;  // shared_settings_text(): must be equal on all ranks
  HostFacts machine;            // that the rank runs on, as far as it knows
  std::uint32_t device_kind = gyreDeviceHost;  // gyreDeviceKind
  std::string device;  // of a device rank: bytes that name the device among all; else ""
  Endpoint endpoint;   // where this rank's process listens

  bool operator==(const PeerFacts&) const = default;
};

inline constexpr std::uint32_t kWireVersion = 3;

// The calling process's facts; starts its listener.
Result<PeerFacts> own_facts(const Settings& settings);

std::vector<std::byte> encode(const PeerFacts& facts);
// Bounded; refuses anything encode() does not write.
Result<PeerFacts> decode_facts(std::span<const std::byte> bytes);

// "rank 3 (host h, pid 12)".
std::string rank_name(int rank, const PeerFacts& facts);

// The number of ranks of each place if that is the same on all and they are consecutive; else 1.
int ranks_per_host(std::span<const PeerFacts> facts);

// An error that shows the first difference in version or settings between rank 0 and another one.
Result<void> compare_facts(std::span<const PeerFacts> facts);

}  // namespace gyre
