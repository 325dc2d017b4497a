// Every setting of Gyre, read from the environment once. ONE table (settings.cc) gives the parser,
// the check, `gyre settings`, and the docs page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"

namespace gyre {

struct Settings {
  // Which ranks and how they meet
  std::string device = "auto";                // GYRE_DEVICE
  std::string job_id;                         // GYRE_JOB_ID
  std::string comm_id;                        // NCCL_COMM_ID
  std::string host_id;                        // NCCL_HOSTID
  std::string socket_ifname;                  // NCCL_SOCKET_IFNAME
  std::string socket_family;                  // NCCL_SOCKET_FAMILY: "", AF_INET, AF_INET6
  std::string port_range;                     // GYRE_PORT_RANGE "first-last"
  std::int64_t init_timeout_ms = 120'000;     // GYRE_INIT_TIMEOUT (seconds)
  std::int64_t timeout_ms = 0;                // GYRE_TIMEOUT (seconds), 0: none
  std::int64_t handshake_timeout_ms = 5'000;  // GYRE_HANDSHAKE_TIMEOUT (seconds)
  // Paths
  bool p2p_disable = false;                 // NCCL_P2P_DISABLE
  bool shm_disable = false;                 // NCCL_SHM_DISABLE
  std::int64_t slots = 4;                   // GYRE_SLOTS per lane
  std::int64_t slot_bytes = 128 << 10;      // GYRE_SLOT_BYTES
  std::int64_t socket_streams = 1;          // GYRE_SOCKET_STREAMS per pair of ranks
  std::string congestion = "auto";          // GYRE_TCP_CONGESTION
  std::int64_t zero_copy_bytes = 16 << 10;  // GYRE_ZERO_COPY: smallest slice sent by reference
  std::int64_t map_bytes = 256 << 10;       // GYRE_MAP_BYTES
  std::string cma = "auto";                 // GYRE_CMA: auto, 0, 1: process_vm_readv
  std::string hook;                         // GYRE_HOOK: trace, fault:..., throttle:...
  std::string topo_file;                    // NCCL_TOPO_FILE
  std::string topo_dump_file;               // NCCL_TOPO_DUMP_FILE
  // Semantics
  bool reproducible = false;          // GYRE_REPRODUCIBLE
  bool check = false;                 // GYRE_CHECK
  std::optional<bool> comm_blocking;  // NCCL_COMM_BLOCKING
  std::int64_t spin_us = 100;         // GYRE_SPIN: about what it costs to sleep and be woken
  std::int64_t nccl_version = 22809;  // GYRE_NCCL_VERSION
  // Planner
  std::string algo;                                  // NCCL_ALGO
  std::string gyre_algo;                             // GYRE_ALGO
  std::string proto;                                 // NCCL_PROTO
  std::int64_t min_channels = 1, max_channels = 64;  // NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS
  std::int64_t one_shot_bytes = 64 << 20;            // GYRE_ONE_SHOT_BYTES
  std::string tuning_file;                           // GYRE_TUNING_FILE
  std::optional<std::int64_t> stream_bytes;          // GYRE_STREAM_BYTES: results past the caches
};

// Parses and checks every known variable of the environment (and NCCL_CONF_FILE, ~/.nccl.conf,
// /etc/nccl.conf, which never overwrite it). A bad value, or an unknown GYRE_ name, is an
// invalid_argument error that names it and the values allowed.
Result<Settings> parse_settings();

// The same over given (name, value) pairs, the first of a name winning; an empty value is none.
// Names that are neither in the table nor begin with GYRE_ are passed over.
using NamedValue = std::pair<std::string, std::string>;
Result<Settings> parse_settings(std::span<const NamedValue> environment);

// The parsed settings of this process, read once; the error of a bad environment is kept and given
// to every caller.
const Result<Settings>& settings();

struct SettingRow {
  std::string_view name, type, fallback, range, help;
  bool must_agree;  // all ranks of a communicator need the same value
};
std::span<const SettingRow> setting_table();

// What a row's setting is, as text in the form that the parser reads; "" if it is none. The log's
// are those of the environment now, which ncclResetDebugInit reads again.
std::string setting_text(const SettingRow& row, const Settings& settings);
// The same as a number: bytes, seconds, 0 or 1 for flags. None for what is no whole number.
std::optional<std::int64_t> setting_number(const SettingRow& row, const Settings& settings);

// "NAME=value" lines of the settings that every rank of a communicator must share; compared by hash
// at init, shown line by line when they differ.
std::string shared_settings_text(const Settings& settings);

}  // namespace gyre
