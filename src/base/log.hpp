// Logging in the form that NCCL users know (NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/source_place.hpp"

namespace gyre {

enum class LogLevel : std::uint8_t { none, version, warn, info, abort, trace };

// Subsystems of NCCL_DEBUG_SUBSYS that Gyre has something to say about.
enum class Subsystem : std::uint32_t {
  init = 1U << 0,
  coll = 1U << 1,
  p2p = 1U << 2,
  shm = 1U << 3,
  net = 1U << 4,
  graph = 1U << 5,
  tuning = 1U << 6,
  env = 1U << 7,
  alloc = 1U << 8,
  call = 1U << 9,
  proxy = 1U << 10,
  bootstrap = 1U << 12,
  reg = 1U << 13,
  destroy = 1U << 16,
};

bool log_enabled(LogLevel level, Subsystem subsystem);
void log_line(LogLevel level, std::string_view message);
// A WARN line, which names the place that it comes from.
void log_warn_line(SourcePlace where, std::string_view message);
// Reads NCCL_DEBUG* again (ncclResetDebugInit).
void log_reset();

// A format that knows where it stands.
template <typename... Args>
struct LocatedFormat {
  template <typename Text>
  consteval LocatedFormat(const Text& text, SourcePlace place = SourcePlace::here())
      : format(text), where(place) {}
  fmt::format_string<Args...> format;
  SourcePlace where;
};

template <typename... Args>
void log_warn(LocatedFormat<std::type_identity_t<Args>...> format, Args&&... args) {
  if (log_enabled(LogLevel::warn, Subsystem::init)) {
    log_warn_line(format.where, fmt::format(format.format, std::forward<Args>(args)...));
  }
}

template <typename... Args>
void log_info(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::info, subsystem)) {
    log_line(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace gyre
