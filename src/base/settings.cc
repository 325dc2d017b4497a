#include "base/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <variant>
#include <vector>

#include "base/environment.hpp"
#include "base/parse_value.hpp"
#include "base/setting_kind.hpp"

namespace gyre {
namespace {

using namespace setting;  // NOLINT(google-build-using-namespace): the table is made of its kinds

struct Entry {
  std::string_view name;
  Kind kind;
  std::string_view help;
  bool must_agree = false;
};

bool valid_port_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  const auto first = parse_integer(text.substr(0, dash));
  const auto last = parse_integer(text.substr(dash + 1));
  return first && last && 1 <= *first && *first <= *last && *last <= 65535;
}

bool valid_host_port(std::string_view text) { return parse_host_text(text).has_value(); }

bool valid_hook(std::string_view text) {
  return text.starts_with("trace") || text.starts_with("fault") || text.starts_with("throttle");
}

using S = Settings;
constexpr std::int64_t kHours = 3'600'000;
constexpr std::int64_t kWeek = 168 * kHours;

// Which ranks there are and how they meet.
std::vector<Entry> meeting_entries() {
  return {
      {"GYRE_DEVICE", Choice{&S::device, {"auto", "host", "cuda", "hip"}},
       "Which kind of rank a process is; auto takes CUDA, else HIP, else host"},
      {"GYRE_JOB_ID", Text{&S::job_id},
       "Names this run, so that ranks of another run are never mistaken for its own"},
      {"NCCL_COMM_ID", Text{&S::comm_id, "host:port, 1.2.3.4:port or [v6]:port", valid_host_port},
       "Where rank 0 listens when the ranks exchange no id"},
      {"NCCL_HOSTID", Text{&S::host_id},
       "Stands in for the host's identity: ranks with different ones share no memory"},
      {"NCCL_SOCKET_IFNAME", Text{&S::socket_ifname, "[^][=]name,name..."},
       "Interfaces to use, by prefix; = for whole names, ^ to exclude"},
      {"NCCL_SOCKET_FAMILY", Choice{&S::socket_family, {"AF_INET", "AF_INET6"}},
       "Use addresses of one family only"},
      {"GYRE_PORT_RANGE", Text{&S::port_range, "first-last, both in 1 to 65535", valid_port_range},
       "The listening port of each process is taken from this range"},
      {"GYRE_INIT_TIMEOUT", Seconds{&S::init_timeout_ms, 1, kWeek},
       "How long init waits for all ranks"},
      {"GYRE_TIMEOUT", Seconds{&S::timeout_ms, 0, kWeek},
       "How long an operation may take before it fails; 0 for ever"},
      {"GYRE_HANDSHAKE_TIMEOUT", Seconds{&S::handshake_timeout_ms, 1, kHours},
       "How long a new connection may take to prove that it belongs to the job"},
  };
}

// The paths between them.
std::vector<Entry> path_entries() {
  return {
      {"NCCL_P2P_DISABLE", Flag{&S::p2p_disable}, "No direct access to peers' memory"},
      {"NCCL_SHM_DISABLE", Flag{&S::shm_disable}, "No shared memory"},
      {"GYRE_SLOTS", Integer{&S::slots, 4, 64},
       "Slots of a lane; no schedule needs more than the least", true},
      {"GYRE_SLOT_BYTES", Bytes{&S::slot_bytes, 4 << 10, 64 << 20, 4 << 10}, "Size of a slot",
       true},
      {"GYRE_SOCKET_STREAMS", Integer{&S::socket_streams, 1, 16},
       "TCP connections of a pair of ranks", true},
      {"GYRE_TCP_CONGESTION", Text{&S::congestion, "auto, or the name of one the kernel has"},
       "Congestion control of the data connections"},
      {"GYRE_ZERO_COPY", Bytes{&S::zero_copy_bytes, 0, std::int64_t{1} << 40, 1},
       "The smallest slice that is sent by reference instead of through a slot (64K from a root to "
       "several peers)"},
      {"GYRE_MAP_BYTES", Bytes{&S::map_bytes, 0, std::int64_t{1} << 62, 1},
       "The smallest call (its count, as bytes) for which ranks on devices map each other's "
       "buffers across processes",
       true},
      {"GYRE_CMA", Choice{&S::cma, {"auto", "0", "1"}},
       "Read peers' memory with process_vm_readv: auto where that pays, 1 wherever it can"},
      {"GYRE_HOOK", Text{&S::hook, "trace..., fault:... or throttle:...", valid_hook},
       "Decorates the transports, for tests and diagnosis"},
      {"NCCL_TOPO_FILE", Text{&S::topo_file, "a path"},
       "The machine as this file describes it, in the vendor libraries' XML or hwloc's"},
      {"NCCL_TOPO_DUMP_FILE", Text{&S::topo_dump_file, "a path"},
       "Where the machine's description is written, in the vendor libraries' XML"},
  };
}

// What calls mean and how they are planned.
std::vector<Entry> call_entries() {
  return {
      {"GYRE_REPRODUCIBLE", Flag{&S::reproducible},
       "Result bits that depend only on inputs, count of ranks, type and operation", true},
      {"GYRE_CHECK", Flag{&S::check},
       "Ranks compare every call before it runs, not only by what arrives; the odd one is named",
       true},
      {"NCCL_COMM_BLOCKING", OptionalFlag{&S::comm_blocking},
       "Overrides the blocking field of every communicator's configuration"},
      {"GYRE_SPIN", Integer{&S::spin_us, 0, 1'000'000},
       "Microseconds for which a wait spins before it sleeps"},
      {"GYRE_NCCL_VERSION", Integer{&S::nccl_version, 2000, 99999},
       "The version that ncclGetVersion reports"},
      {"NCCL_ALGO", Text{&S::algo, "[function:][^]name,name;..."}, "Algorithms to choose from",
       true},
      {"GYRE_ALGO",
       Text{&S::gyre_algo, "[collective:]algorithm[@slice];... (collectives/README.md)"},
       "The schedule that runs a collective, whatever the size; averages need one of fixed order",
       true},
      {"NCCL_PROTO", Text{&S::proto, "[function:][^]LL,LL128,Simple;..."},
       "LL: whether small calls may take their short form; there is no LL128", true},
      {"NCCL_MIN_NCHANNELS", Integer{&S::min_channels, 1, 64},
       "From 2 on, rings of host ranks run in both directions", true},
      {"NCCL_MAX_NCHANNELS", Integer{&S::max_channels, 1, 64},
       "With 1, rings of host ranks run in one direction", true},
      {"GYRE_TUNING_FILE", Text{&S::tuning_file, "a path"},
       "Measured times by which rank 0 corrects its cost model; `gyre tune` writes them"},
      {"GYRE_ONE_SHOT_BYTES", Bytes{&S::one_shot_bytes, 0, 64 << 20, 1},
       "The largest message that every rank may send to every other at once", true},
      {"GYRE_STREAM_BYTES", OptionalBytes{&S::stream_bytes, 0, std::int64_t{1} << 50},
       "The smallest result that is written past the caches; unset: what turns out to be faster"},
  };
}

// Read by log.cc itself, before anything else is.
std::vector<Entry> log_entries() {
  return {
      {"NCCL_DEBUG", Text{nullptr, "VERSION, WARN, INFO, ABORT or TRACE; anything else: nothing"},
       "What is logged"},
      {"NCCL_DEBUG_SUBSYS", Text{nullptr, "[^]INIT,COLL,... or ALL"},
       "The subsystems whose INFO lines are logged"},
      {"NCCL_DEBUG_FILE", Text{nullptr, "a path; %h host, %p process"}, "Where the log goes"},
      {"NCCL_DEBUG_TIMESTAMP_FORMAT", Text{nullptr, "strftime's, and %Nf for N digits"},
       "The time stamp of log lines"},
      {"NCCL_DEBUG_TIMESTAMP_LEVELS", Text{nullptr, "[^]WARN,INFO,... or ALL"},
       "The log levels that carry a time stamp"},
  };
}

const std::vector<Entry>& table() {
  static const auto* entries = [] {
    auto* all = new std::vector<Entry>;
    for (const auto part : {meeting_entries, path_entries, call_entries, log_entries}) {
      for (Entry& entry : part()) all->push_back(std::move(entry));
    }
    return all;
  }();
  return *entries;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

Error unknown_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;  // bounds the work for absurd names
  std::string text = fmt::format("{} is not a setting of Gyre", name);
  const Entry* nearest = nullptr;
  std::size_t best = 4;
  for (const Entry& entry : table()) {
    if (name.size() > kLongest) break;
    const std::size_t distance = edit_distance(name, entry.name);
    if (distance < best) {
      best = distance;
      nearest = &entry;
    }
  }
  text += nearest != nullptr ? fmt::format("; did you mean {}?", nearest->name)
                             : "; 'gyre settings' lists them all";
  return {Status::invalid_argument, text};
}

Error bad_value(const Entry& entry, std::string_view value) {
  return {Status::invalid_argument, fmt::format("{}=\"{}\" is not allowed; allowed: {}", entry.name,
                                                value, range_of(entry.kind))};
}

Result<void> check_together(const Settings& settings) {
  if (settings.min_channels > settings.max_channels) {
    return Error{Status::invalid_argument,
                 fmt::format("NCCL_MIN_NCHANNELS={} is above NCCL_MAX_NCHANNELS={}",
                             settings.min_channels, settings.max_channels)};
  }
  return {};
}

const Entry& entry_of(const SettingRow& row) {
  return table()[static_cast<std::size_t>(&row - setting_table().data())];
}

}  // namespace

Result<Settings> parse_settings(std::span<const NamedValue> environment) {
  Settings settings;
  std::vector<bool> seen(table().size());
  for (const NamedValue& given : environment) {
    // Not a structured binding: clang 14 refuses to capture one.
    const auto& name = given.first;
    const auto& value = given.second;
    const auto entry = std::find_if(table().begin(), table().end(),
                                    [&](const Entry& e) { return e.name == name; });
    if (entry == table().end()) {
      if (name.starts_with("GYRE_")) return unknown_name(name);
      continue;
    }
    // `VARIABLE= program` is the same as not setting it; what a file says then counts.
    if (value.empty()) continue;
    const auto index = static_cast<std::size_t>(entry - table().begin());
    if (seen[index]) continue;
    seen[index] = true;
    if (!apply(entry->kind, settings, value)) return bad_value(*entry, value);
  }
  GYRE_TRY(check_together(settings));
  return settings;
}

Result<Settings> parse_settings() {
  const auto environment = read_environment();
  return parse_settings(environment);
}

const Result<Settings>& settings() {
  // Never destroyed: the reactor's thread reads it until the process ends.
  static const auto* parsed = new Result<Settings>(parse_settings());
  return *parsed;
}

std::span<const SettingRow> setting_table() {
  static const auto* texts = [] {
    auto* all = new std::vector<std::pair<std::string, std::string>>;
    for (const Entry& entry : table()) {
      all->emplace_back(print(entry.kind, Settings{}), range_of(entry.kind));
    }
    return all;
  }();
  static const auto* rows = [] {
    auto* all = new std::vector<SettingRow>;
    for (std::size_t i = 0; i < table().size(); ++i) {
      const Entry& entry = table()[i];
      all->push_back({entry.name, type_of(entry.kind), (*texts)[i].first, (*texts)[i].second,
                      entry.help, entry.must_agree});
    }
    return all;
  }();
  return *rows;
}

std::string setting_text(const SettingRow& row, const Settings& settings) {
  const Kind& kind = entry_of(row).kind;
  const auto* text = std::get_if<Text>(&kind);
  if (text != nullptr && text->field == nullptr) return environment_value(row.name).value_or("");
  return print(kind, settings);
}

std::optional<std::int64_t> setting_number(const SettingRow& row, const Settings& settings) {
  const Kind& kind = entry_of(row).kind;
  const bool is_words = std::holds_alternative<Choice>(kind) || std::holds_alternative<Text>(kind);
  return is_words ? parse_integer(setting_text(row, settings)) : number_of(kind, settings);
}

std::string shared_settings_text(const Settings& settings) {
  std::string text;
  for (const Entry& entry : table()) {
    if (entry.must_agree) text += fmt::format("{}={}\n", entry.name, print(entry.kind, settings));
  }
  return text;
}

}  // namespace gyre
