#include "base/log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "base/environment.hpp"
#include "base/fd.hpp"
#include "base/parse_value.hpp"
#include "base/process.hpp"
#include "base/status.hpp"

namespace gyre {
namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"none", "version", "warn",
                                                         "info", "abort",   "trace"};
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 17> kSubsystems = {{
    {"init", 1U << 0},
    {"coll", 1U << 1},
    {"p2p", 1U << 2},
    {"shm", 1U << 3},
    {"net", 1U << 4},
    {"graph", 1U << 5},
    {"tuning", 1U << 6},
    {"env", 1U << 7},
    {"alloc", 1U << 8},
    {"call", 1U << 9},
    {"proxy", 1U << 10},
    {"nvls", 1U << 11},
    {"bootstrap", 1U << 12},
    {"reg", 1U << 13},
    {"profile", 1U << 14},
    {"ras", 1U << 15},
    {"destroy", 1U << 16},
}};
constexpr std::uint32_t kDefaultSubsystems = (1U << 0) | (1U << 7) | (1U << 12);
constexpr std::uint32_t kAll = 0xffffffffU;

struct LogState {
  LogLevel level = LogLevel::none;
  std::uint32_t subsystems = kDefaultSubsystems;
  std::uint32_t stamped_levels = 1U << static_cast<unsigned>(LogLevel::warn);
  std::string stamp = "[%F %T] ";
  int fd = STDOUT_FILENO;
  const LogState* before = nullptr;  // never freed: threads may still read it
};

std::string value_of(std::string_view name) { return environment_value(name).value_or(""); }

LogLevel level_of(std::string_view text) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), lower_case(text));
  return found == kLevelNames.end() ? LogLevel::none
                                    : static_cast<LogLevel>(found - kLevelNames.begin());
}

// "[^]a,b": the union of the names' masks, or all others.
template <typename MaskOf>
std::uint32_t parse_mask(std::string_view text, MaskOf&& mask_of) {
  const bool inverted = text.starts_with('^');
  if (inverted) text.remove_prefix(1);
  std::uint32_t mask = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    mask |= mask_of(lower_case(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return inverted ? ~mask : mask;
}

std::uint32_t subsystem_mask(std::string_view name) {
  if (name == "all") return kAll;
  for (const auto& [known, mask] : kSubsystems) {
    if (known == name) return mask;
  }
  return 0;
}

std::uint32_t level_mask(std::string_view name) {
  if (name == "all") return kAll;
  const LogLevel level = level_of(name);
  return level == LogLevel::none ? 0 : 1U << static_cast<unsigned>(level);
}

std::string short_host_name() {
  const std::string name = host_name();
  return name.substr(0, name.find('.'));
}

std::string expand_file_name(std::string_view pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case '%':
        name += '%';
        break;
      case 'h':
        name += short_host_name();
        break;
      case 'p':
        name += fmt::format("{}", ::getpid());
        break;
      default:
        (name += '%') += pattern[i];
    }
  }
  return name;
}

// Where to write, or -1 and errno.
int open_log(const std::string& name) {
  if (name.empty() || name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  return ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
}

// Replaces each "%Nf" (N = 1..9) by N digits of the second's fraction; strftime knows the rest.
std::string expand_fraction(std::string_view format, long nanoseconds) {
  const std::string digits = fmt::format("{:09}", nanoseconds);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '%' && i + 2 < format.size() && format[i + 1] >= '1' && format[i + 1] <= '9' &&
        format[i + 2] == 'f') {
      out += digits.substr(0, static_cast<std::size_t>(format[i + 1] - '0'));
      i += 2;
    } else if (format[i] == '%' && i + 1 < format.size()) {
      out += format.substr(i++, 2);
    } else {
      out += format[i];
    }
  }
  return out;
}

std::string time_stamp(const std::string& format) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  std::array<char, 256> text{};
  const std::string expanded = expand_fraction(format, now.tv_nsec);
  const std::size_t length = ::strftime(text.data(), text.size(), expanded.c_str(), &local);
  return {text.data(), length};
}

std::string file_and_line(SourcePlace where) {
  const std::string_view path = where.file;
  return fmt::format("{}:{} ", path.substr(path.rfind('/') + 1), where.line);
}

std::string prefix(const LogState& state, LogLevel level, std::string_view place) {
  if (level <= LogLevel::version) return {};
  std::string text;
  if ((state.stamped_levels >> static_cast<unsigned>(level) & 1U) != 0) {
    text = time_stamp(state.stamp);
  }
  constexpr std::array<std::string_view, 6> kWords = {"", "", "WARN", "INFO", "ABORT", "TRACE"};
  // Scripts expect a device number in brackets; host ranks all have device 0.
  return text + fmt::format("{}:{}:{} [0] {}NCCL {} ", short_host_name(), ::getpid(),
                            ::syscall(SYS_gettid), place, kWords[static_cast<std::size_t>(level)]);
}

void write_line(const LogState& state, LogLevel level, std::string_view place,
                std::string_view message) {
  // One write per line, so that the lines of several ranks do not mix.
  std::string line = prefix(state, level, place);
  line += message;
  line += '\n';
  [[maybe_unused]] const auto written = ::write(state.fd, line.data(), line.size());
}

LogState read_state() {
  LogState state;
  state.level = level_of(value_of("NCCL_DEBUG"));
  if (const auto subsystems = environment_value("NCCL_DEBUG_SUBSYS")) {
    state.subsystems = parse_mask(*subsystems, subsystem_mask);
  }
  if (const auto levels = environment_value("NCCL_DEBUG_TIMESTAMP_LEVELS")) {
    state.stamped_levels = parse_mask(*levels, level_mask);
  }
  if (const auto stamp = environment_value("NCCL_DEBUG_TIMESTAMP_FORMAT")) state.stamp = *stamp;
  if (state.level <= LogLevel::version) return state;
  const std::string name = expand_file_name(value_of("NCCL_DEBUG_FILE"));
  state.fd = open_log(name);
  if (state.fd < 0) {
    const Error error = system_error(fmt::format("NCCL_DEBUG_FILE={}", name), errno);
    state.fd = STDOUT_FILENO;
    write_line(state, LogLevel::warn, "", error.text + "; the log goes to the standard output");
  }
  return state;
}

// Readers hold no lock, so a state that was replaced is never freed (nor its file closed): another
// thread may be writing its line. Resets are rare.
std::atomic<const LogState*> current{nullptr};

const LogState& log_state() {
  const LogState* state = current.load(std::memory_order_acquire);
  if (state == nullptr) {
    static const LogState* first = new LogState(read_state());
    const LogState* expected = nullptr;
    current.compare_exchange_strong(expected, first, std::memory_order_acq_rel);
    state = current.load(std::memory_order_acquire);
  }
  return *state;
}

}  // namespace

bool log_enabled(LogLevel level, Subsystem subsystem) {
  const LogState& state = log_state();
  if (level > state.level || level == LogLevel::none) return false;
  if (level <= LogLevel::warn) return true;
  return (state.subsystems & static_cast<std::uint32_t>(subsystem)) != 0;
}

void log_line(LogLevel level, std::string_view message) {
  write_line(log_state(), level, "", message);
}

void log_warn_line(SourcePlace where, std::string_view message) {
  write_line(log_state(), LogLevel::warn, file_and_line(where), message);
}

void log_reset() {
  auto* state = new LogState(read_state());
  state->before = current.load(std::memory_order_acquire);
  current.store(state, std::memory_order_release);
}

}  // namespace gyre
