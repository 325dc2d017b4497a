// Measured times of schedules, as `gyre tune` writes them and GYRE_TUNING_FILE names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "plan/choices.hpp"

namespace gyre {

// The communicators that measurements hold for.
struct TuningPlace {
  std::uint32_t world = 0;
  std::uint32_t ranks_per_host = 0;
  bool memory_within_hosts = false;

  bool operator==(const TuningPlace&) const = default;
};

struct TuningRow {
  CallKind kind = CallKind::all_reduce;
  TuningPlace place;
  std::uint64_t bytes = 0;  // message_bytes()
  Choice choice;
  double seconds = 0;
};

// One row a line:
//
//   gyre-tuning 1
//   # collective ranks per_host within_hosts bytes algorithm slice microseconds
//   all_reduce 4 4 memory 4096 one_shot - 5.2
//
// Empty lines and what follows a # mean nothing. Of equal rows the last counts.
class TuningTable {
 public:
  void add(const TuningRow& row) { rows_.push_back(row); }
  std::span<const TuningRow> rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }

  // The rows of a collective and place.
  std::vector<TuningRow> of(CallKind kind, const TuningPlace& place) const;

  std::string text() const;
  // Bounded. Error invalid_usage: names the file, the line, and what is wrong in it.
  static Result<TuningTable> parse(std::string_view text, std::string_view file);
  static Result<TuningTable> load(const std::filesystem::path& file);

 private:
  std::vector<TuningRow> rows_;
};

}  // namespace gyre
