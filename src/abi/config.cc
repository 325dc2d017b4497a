#include "abi/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>

#include "base/settings.hpp"

namespace gyre::abi {
namespace {

constexpr std::size_t kSmallestConfig = 24;  // that of NCCL 2.14, which introduced it

// Release by which a field's value means something; older callers left it unset.
struct IntField {
  const char* name;
  int ncclConfig_t::*member;
  unsigned since;
  int lowest;
  int highest;
};

constexpr IntField kIntFields[] = {
    {"blocking", &ncclConfig_t::blocking, 21400, 0, 1},
    {"cgaClusterSize", &ncclConfig_t::cgaClusterSize, 21700, 0, INT_MAX},
    {"minCTAs", &ncclConfig_t::minCTAs, 21700, 1, INT_MAX},
    {"maxCTAs", &ncclConfig_t::maxCTAs, 21700, 1, INT_MAX},
    {"splitShare", &ncclConfig_t::splitShare, 21800, 0, 1},
    {"trafficClass", &ncclConfig_t::trafficClass, 22600, 0, INT_MAX},
    {"collnetEnable", &ncclConfig_t::collnetEnable, 22700, 0, 1},
    {"CTAPolicy", &ncclConfig_t::CTAPolicy, 22700, 0, 3},
    {"shrinkShare", &ncclConfig_t::shrinkShare, 22700, 0, 1},
    {"nvlsCTAs", &ncclConfig_t::nvlsCTAs, 22700, 1, INT_MAX},
    {"nChannelsPerNetPeer", &ncclConfig_t::nChannelsPerNetPeer, 22800, 1, INT_MAX},
    {"nvlinkCentricSched", &ncclConfig_t::nvlinkCentricSched, 22800, 0, 1},
    {"graphUsageMode", &ncclConfig_t::graphUsageMode, 22900, 0, 2},
    {"numRmaCtx", &ncclConfig_t::numRmaCtx, 22900, 1, INT_MAX},
    {"maxP2pPeers", &ncclConfig_t::maxP2pPeers, 23003, 1, INT_MAX},
    {"graphStreamOrdering", &ncclConfig_t::graphStreamOrdering, 23007, 0, 1},
};

Result<ncclConfig_t> completed(const ncclConfig_t* given) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (given == nullptr) return config;
  if (given->magic != NCCL_API_MAGIC || given->size < kSmallestConfig) {
    return Error{Status::invalid_argument,
                 "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER"};
  }
  const unsigned version = given->version;
  std::memcpy(&config, given, std::min(given->size, sizeof config));
  for (const IntField& field : kIntFields) {
    int& value = config.*field.member;
    if (version < field.since) value = NCCL_CONFIG_UNDEF_INT;
    if (value == NCCL_CONFIG_UNDEF_INT) continue;
    if (value < field.lowest || value > field.highest) {
      return Error{Status::invalid_argument,
                   fmt::format("config.{} is {}; allowed are {} to {}", field.name, value,
                               field.lowest, field.highest)};
    }
  }
  if (version < 21700) config.netName = nullptr;
  if (version < 22700) config.commName = nullptr;
  const bool both =
      config.minCTAs != NCCL_CONFIG_UNDEF_INT && config.maxCTAs != NCCL_CONFIG_UNDEF_INT;
  if (both && config.minCTAs > config.maxCTAs) {
    return Error{Status::invalid_argument,
                 fmt::format("config.minCTAs is {}, above config.maxCTAs, {}", config.minCTAs,
                             config.maxCTAs)};
  }
  return config;
}

}  // namespace

Result<CommOptions> read_config(const ncclConfig_t* given, const CommOptions& inherited) {
  GYRE_TRY_ASSIGN(const ncclConfig_t config, completed(given));
  CommOptions options = inherited;
  if (config.blocking != NCCL_CONFIG_UNDEF_INT) options.blocking = config.blocking == 1;
  if (config.commName != nullptr) options.name = config.commName;
  if (settings() && settings()->comm_blocking) options.blocking = *settings()->comm_blocking;
  return options;
}

}  // namespace gyre::abi
