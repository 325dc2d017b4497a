// The JSON file of -J, in nccl-tests' form (version 3), booleans and roots as strings included.
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/layout.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/stats.hpp"
#include "bench/harness/table.hpp"

namespace gyre::bench {

class JsonReport {
 public:
  // Creates `path`, or path.0, path.1, ... if it exists. Nothing if it cannot be written, or does
  // not end in ".json". `note` is the line to print about it.
  static std::unique_ptr<JsonReport> open(const std::string& path, std::string& note);
  ~JsonReport();

  void begin(int argc, char* const argv[], char* const environment[], int library_version);
  void config(const Options& options, const std::vector<DeviceLine>& devices);

  void row(const RowKey& key);
  void measurement(bool in_place, const Measurement& measurement, bool cputime);
  // Times in seconds; `processes`: a row of times of each process, left out for a single one.
  void iterations(bool in_place, const IterStats& stats, int skipped,
                  const std::vector<double>& times,
                  const std::vector<std::vector<double>>& processes);
  void end_row(int iterations);

  void footer(const Footer& footer);
  void errors(const std::string& last_error);
  // Writes the file. Once.
  void finish();

 private:
  explicit JsonReport(std::FILE* file);
  nlohmann::ordered_json& last_row();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<nlohmann::ordered_json> root_;
};

}  // namespace gyre::bench
