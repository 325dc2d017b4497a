#include "bench/harness/report.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

namespace gyre::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 3;
constexpr int kMostNames = 10'000;

const char* text_of(bool value) { return value ? "true" : "false"; }

Json number(double value) { return std::isnan(value) ? Json("nan") : Json(value); }

Json micros(const std::vector<double>& seconds) {
  Json list = Json::array();
  for (const double time : seconds) list.push_back(number(time * 1e6));
  return list;
}

Json text_list(char* const texts[]) {
  Json list = Json::array();
  for (; *texts != nullptr; ++texts) list.push_back(*texts);
  return list;
}

bool ends_in_json(std::string_view path) {
  constexpr std::string_view kSuffix = ".json";
  return path.size() > kSuffix.size() && strncasecmp(path.data() + path.size() - kSuffix.size(),
                                                     kSuffix.data(), kSuffix.size()) == 0;
}

Json device_entry(const DeviceLine& line) {
  return {{"rank", line.rank},         {"group", line.group},   {"pid", line.pid},
          {"hostname", line.hostname}, {"device", line.device}, {"device_hex", "0000:00:00"},
          {"device_info", line.name}};
}

}  // namespace

JsonReport::JsonReport(std::FILE* file)
    : file_(file, &std::fclose), root_(std::make_unique<Json>(Json::object())) {}

JsonReport::~JsonReport() = default;

std::unique_ptr<JsonReport> JsonReport::open(const std::string& path, std::string& note) {
  if (!ends_in_json(path)) {
    note = fmt::format("# skipping output file; {} does not end in .json\n", path);
    return nullptr;
  }
  std::string name = path;
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    if (std::FILE* file = std::fopen(name.c_str(), "wxe")) {
      note = fmt::format("# Writing JSON output to {}\n", name);
      return std::unique_ptr<JsonReport>(new JsonReport(file));
    }
    if (errno != EEXIST) break;
    name = fmt::format("{}.{}", path, attempt);
  }
  note = fmt::format("# skipping json output; {} not accessible: {}\n", name, std::strerror(errno));
  return nullptr;
}

void JsonReport::begin(int argc, char* const argv[], char* const environment[],
                       int library_version) {
  Json& root = *root_;
  root["version"] = kFormatVersion;
  root["start_time"] = time_of_day();
  root["args"] = Json::array();
  for (int i = 0; i < argc; ++i) root["args"].push_back(argv[i]);
  root["env"] = text_list(environment);
  root["nccl_version"] = library_version;
}

void JsonReport::config(const Options& options, const std::vector<DeviceLine>& devices) {
  Json config = Json::object();
  config["nthreads"] = options.threads;
  config["ngpus"] = options.gpus;
  config["minimum_bytes"] = options.min_bytes;
  config["maximum_bytes"] = options.max_bytes;
  if (options.step_factor > 1) {
    config["step_factor"] = options.step_factor;
  } else {
    config["step_bytes"] = options.step_bytes;
  }
  config["warmup_iters"] = options.warmup_iters;
  config["iterations"] = options.iters;
  config["aggregated_iterations"] = options.agg_iters;
  config["validation"] = options.check;
  config["graph"] = 0;
  config["blocking_collectives"] = text_of(options.blocking != Blocking::none);
  config["per_iter_timing"] = text_of(options.per_iter_timing);
  config["per_iter_skip"] = options.per_iter_skip;
  config["parallel_init"] = text_of(options.parallel_init);
  config["devices"] = Json::array();
  for (const DeviceLine& line : devices) config["devices"].push_back(device_entry(line));
  (*root_)["config"] = std::move(config);
  (*root_)["results"] = Json::array();
}

Json& JsonReport::last_row() { return (*root_)["results"].back(); }

void JsonReport::row(const RowKey& key) {
  (*root_)["results"].push_back({{"size", key.bytes},
                                 {"count", key.count},
                                 {"type", key.type},
                                 {"redop", key.op},
                                 {"root", fmt::format("{:6}", key.root)}});
}

void JsonReport::measurement(bool in_place, const Measurement& measurement, bool cputime) {
  Json entry = Json::object();
  entry[cputime ? "cpu_time" : "time"] = number(measurement.seconds * 1e6);
  entry["alg_bw"] = number(measurement.algorithm_gbps);
  entry["bus_bw"] = number(measurement.bus_gbps);
  entry["nwrong"] =
      measurement.wrong ? Json(static_cast<double>(*measurement.wrong)) : Json(nullptr);
  last_row()[in_place ? "in_place" : "out_of_place"] = std::move(entry);
}

void JsonReport::iterations(bool in_place, const IterStats& stats, int skipped,
                            const std::vector<double>& times,
                            const std::vector<std::vector<double>>& processes) {
  Json entry = Json::object();
  entry["skipped_iterations"] = skipped;
  entry["min_us"] = number(stats.min * 1e6);
  entry["max_us"] = number(stats.max * 1e6);
  entry["avg_us"] = number(stats.mean * 1e6);
  entry["p50_us"] = number(stats.p50 * 1e6);
  entry["p95_us"] = number(stats.p95 * 1e6);
  entry["p99_us"] = number(stats.p99 * 1e6);
  entry["stdev_us"] = number(stats.stdev * 1e6);
  entry["cv_pct"] = number(stats.variation());
  entry["times_us"] = micros(times);
  if (processes.size() > 1) {
    Json rows = Json::array();
    for (const auto& row : processes) rows.push_back(micros(row));
    entry["per_process_max_times_us"] = std::move(rows);
  }
  last_row()[in_place ? "in_place_per_iter" : "out_of_place_per_iter"] = std::move(entry);
}

void JsonReport::end_row(int iterations) {
  last_row()["actual_iterations"] = iterations;
  last_row()["experiment_name"] = "";
}

void JsonReport::footer(const Footer& footer) {
  (*root_)["out_of_bounds"] = {{"count", footer.wrong_runs},
                               {"okay", text_of(footer.wrong_runs == 0)}};
  (*root_)["average_bus_bandwidth"] = {
      {"bandwidth", number(footer.bus_gbps)},
      {"okay", footer.min_bus_gbps ? text_of(footer.fast_enough()) : "unchecked"}};
}

void JsonReport::errors(const std::string& last_error) {
  (*root_)["errors"] = Json::array({last_error});
}

void JsonReport::finish() {
  if (file_ == nullptr) return;
  (*root_)["end_time"] = time_of_day();
  // Arguments and environment may hold any bytes: what is not UTF-8 is replaced, not refused.
  const std::string text = root_->dump(-1, ' ', false, Json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), file_.get());
  file_.reset();
}

}  // namespace gyre::bench
