// Where results go: the table on standard output and the JSON file, kept in step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/report.hpp"
#include "bench/harness/table.hpp"

namespace gyre::bench {

// Owned by the first thread of the first process; nobody else has one.
class Output {
 public:
  Output(const Options& options, std::unique_ptr<JsonReport> json)
      : options_(options), json_(std::move(json)) {}

  void print(const std::string& text) const;

  void begin_row(const RowKey& key);
  void measured(bool in_place, const Measurement& measurement);
  // Times in seconds, of each process.
  void iterated(bool in_place, const std::vector<std::vector<double>>& processes);
  // Ends the line; `remarks` are whole lines that follow it.
  void end_row(const std::string& remarks, int iterations);

  JsonReport* json() const { return json_.get(); }

 private:
  const Options& options_;
  std::unique_ptr<JsonReport> json_;
};

}  // namespace gyre::bench
