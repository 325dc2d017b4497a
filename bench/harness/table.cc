#include "bench/harness/table.hpp"

#include <fmt/format.h>

#include <ctime>

namespace gyre::bench {
namespace {

constexpr const char* kTimeFormat = "%Y-%m-%d %H:%M:%S";
constexpr int kTimeWidth = 19;

std::string blocking_text(Blocking blocking) {
  switch (blocking) {
    case Blocking::wait_and_barrier:
      return "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n";
    case Blocking::wait:
      return "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n";
    case Blocking::outer:
      return "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes "
             "barrier \n";
    case Blocking::none:
      break;
  }
  return {};
}

// The left part of a header line: five titles in the columns of row_text().
std::string left_titles(std::string_view size, std::string_view count, std::string_view type,
                        std::string_view op, std::string_view root) {
  return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, op, root);
}

std::string right_titles(const Options& options, std::string_view time, std::string_view algbw,
                         std::string_view busbw, std::string_view wrong, std::string_view micros,
                         std::string_view cv) {
  const bool named = micros.empty();
  std::string half = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, algbw, busbw, wrong);
  if (options.per_iter_timing) {
    half += fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", named ? "i_min" : micros,
                        named ? "i_max" : micros, named ? "i_p99" : micros, cv);
  }
  return half + half;
}

}  // namespace

std::string fit_number(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= static_cast<std::size_t>(width)) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64] = {};
  std::strftime(text, sizeof(text), kTimeFormat, &parts);
  return text;
}

std::string opening_text(const std::string& program, int library_version, const Options& options) {
  const bool factor = options.step_factor > 1;
  std::string text = fmt::format("# nccl-tests version gyre nccl-headers={} nccl-library={}\n",
                                 NCCL_VERSION_CODE, library_version);
  text += fmt::format("# Collective test starting: {}\n", program);
  text += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: {} validation: {} graph: 0 unalign: {}\n",
      options.threads, options.gpus, options.min_bytes, options.max_bytes,
      factor ? options.step_factor : options.step_bytes, factor ? "factor" : "bytes",
      options.warmup_iters, options.iters, options.agg_iters, options.check, options.unalign);
  text += blocking_text(options.blocking);
  if (options.per_iter_timing) {
    text += "# Per-Iteration Report: event timing; i_* uses max over process rows";
    if (options.per_iter_skip > 0) {
      text += fmt::format("; summary skips first {} iterations", options.per_iter_skip);
    }
    text += " \n";
  }
  if (options.parallel_init) {
    text += "# Parallel Init Enabled: threads call into NcclInitRank concurrently \n";
  }
  return text + "#\n# Using devices\n";
}

std::string device_text(const std::vector<DeviceLine>& lines) {
  std::string text;
  for (const DeviceLine& line : lines) {
    // gyre/device.h knows no bus ids; the field stays, because scripts expect it.
    text += fmt::format(
        "#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{:04x}:{:02x}:{:02x}] {}\n",
        line.rank, line.group, line.pid, line.hostname, line.device, 0, 0, 0, line.name);
  }
  return text;
}

std::string header_text(const Options& options) {
  const char* time = options.report_cputime ? "cputime" : "time";
  const std::string blanks = left_titles("", "", "", "", "");
  std::string stamps[2];
  if (options.report_timestamps) {
    stamps[0] = fmt::format("{:>{}}", "timestamp", kTimeWidth);
    stamps[1] = kTimeFormat;
  }
  std::string text = "#\n" + blanks;
  text += options.per_iter_timing
              ? "              out-of-place (+ per-iteration)                                "
                "in-place (+ per-iteration)\n"
              : "           out-of-place                       in-place          \n";
  text += left_titles("size", "count", "type", "redop", "root") +
          right_titles(options, time, "algbw", "busbw", "#wrong", "", "i_cv%") + " " + stamps[0] +
          "\n";
  text += left_titles("(B)", "(elements)", "", "", "") +
          right_titles(options, "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(%)") + " " + stamps[1] +
          "\n";
  return text;
}

std::string row_text(const RowKey& key) {
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}", key.bytes, key.count, key.type, key.op,
                     key.root);
}

std::string measurement_text(const Measurement& measurement) {
  const std::string wrong =
      measurement.wrong ? fmt::format("{:6g}", static_cast<double>(*measurement.wrong)) : "   N/A";
  return fmt::format("  {}  {}  {}  {}", fit_number(measurement.seconds * 1e6, 7),
                     fit_number(measurement.algorithm_gbps, 6), fit_number(measurement.bus_gbps, 6),
                     wrong);
}

std::string stats_text(const IterStats& stats) {
  return fmt::format("  {}  {}  {}  {}", fit_number(stats.min * 1e6, 7),
                     fit_number(stats.max * 1e6, 7), fit_number(stats.p99 * 1e6, 7),
                     fit_number(stats.variation(), 7));
}

std::string footer_text(const Footer& footer, const std::string& program) {
  const char* verdict = "";
  if (footer.min_bus_gbps) verdict = footer.fast_enough() ? "OK" : "FAILED";
  return fmt::format("# {:<20} : {} {}\n", "Out of bounds values", footer.wrong_runs,
                     footer.wrong_runs > 0 ? "FAILED" : "OK") +
         fmt::format("# {:<20} : {:g} {}\n", "Avg bus bandwidth", footer.bus_gbps, verdict) +
         fmt::format("#\n# Collective test concluded: {}\n", program);
}

}  // namespace gyre::bench
