#include "plan/tuning_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/parse_value.hpp"
#include "base/read_file.hpp"
#include "collectives/spec.hpp"

namespace gyre {
namespace {

constexpr std::string_view kTitle = "gyre-tuning 1";
constexpr std::size_t kMostBytes = 16 << 20;
constexpr std::size_t kFields = 8;
constexpr double kLeastMicroseconds = 1e-6, kMostMicroseconds = 1e12;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.substr(0, line.find('#'));
}

// At most one more field than a row has.
std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> fields;
  while (fields.size() <= kFields) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return fields;
}

std::optional<CallKind> read_kind(std::string_view word) {
  for (const CallKind kind : kPlannedKinds) {
    if (name_of(*collective_of(kind)) == word) return kind;
  }
  return std::nullopt;
}

std::optional<Algorithm> read_algorithm(CallKind kind, std::string_view word) {
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (name_of(algorithm) == word && schedule_of(kind, algorithm) != nullptr) return algorithm;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> read_ranks(std::string_view word) {
  const auto value = parse_integer(word);
  if (!value || *value < 1 || *value > CatalogueEntry::kMaxWorld) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<std::uint64_t> read_slice(std::string_view word) {
  if (word == "-") return 0;
  const auto value = parse_bytes(word);
  if (!value || *value < 1 || !std::has_single_bit(static_cast<std::uint64_t>(*value))) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*value);
}

std::optional<double> read_seconds(std::string_view word) {
  double value = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = fault == std::errc{} && end == word.data() + word.size();
  if (!whole || !(value >= kLeastMicroseconds) || value > kMostMicroseconds) return std::nullopt;
  return value * 1e-6;
}

// The row, or which field is none and what would be one.
struct Wrong {
  std::string_view word;
  std::string_view wanted;
};

std::optional<Wrong> read_row(std::span<const std::string_view> fields, TuningRow& row) {
  const auto kind = read_kind(fields[0]);
  if (!kind) return Wrong{fields[0], "a collective, such as all_reduce"};
  row.kind = *kind;
  const auto world = read_ranks(fields[1]);
  if (!world) return Wrong{fields[1], "a number of ranks"};
  row.place.world = *world;
  const auto per_host = read_ranks(fields[2]);
  if (!per_host || *per_host > *world) return Wrong{fields[2], "a number of ranks per host"};
  row.place.ranks_per_host = *per_host;
  row.place.memory_within_hosts = fields[3] == "memory";
  if (!row.place.memory_within_hosts && fields[3] != "socket") {
    return Wrong{fields[3], "memory or socket"};
  }
  const auto bytes = parse_bytes(fields[4]);
  if (!bytes || *bytes < 1) return Wrong{fields[4], "a size in bytes"};
  row.bytes = static_cast<std::uint64_t>(*bytes);
  const auto algorithm = read_algorithm(*kind, fields[5]);
  if (!algorithm) return Wrong{fields[5], "an algorithm of this collective"};
  const auto slice = read_slice(fields[6]);
  if (!slice) return Wrong{fields[6], "- or the longest slice, a power of two"};
  row.choice = {*algorithm, *slice};
  const auto seconds = read_seconds(fields[7]);
  if (!seconds) return Wrong{fields[7], "a time in microseconds"};
  row.seconds = *seconds;
  return std::nullopt;
}

}  // namespace

std::vector<TuningRow> TuningTable::of(CallKind kind, const TuningPlace& place) const {
  std::vector<TuningRow> found;
  for (const TuningRow& row : rows_) {
    if (row.kind == kind && row.place == place) found.push_back(row);
  }
  return found;
}

std::string TuningTable::text() const {
  std::string text(kTitle);
  text += "\n# collective ranks per_host within_hosts bytes algorithm slice microseconds\n";
  for (const TuningRow& row : rows_) {
    const std::uint64_t slice = row.choice.slice_bytes;
    text += fmt::format(
        "{} {} {} {} {} {} {} {:.4g}\n", name_of(*collective_of(row.kind)), row.place.world,
        row.place.ranks_per_host, row.place.memory_within_hosts ? "memory" : "socket", row.bytes,
        name_of(row.choice.algorithm),
        slice == 0 ? "-" : text_of_bytes(static_cast<std::int64_t>(slice)), row.seconds * 1e6);
  }
  return text;
}

Result<TuningTable> TuningTable::parse(std::string_view text, std::string_view file) {
  const auto wrong = [&](std::size_t line, std::string what) {
    return Error{Status::invalid_usage,
                 fmt::format("tuning table: {}, line {}: {}; `gyre tune` writes such files", file,
                             line, what)};
  };
  if (text.size() > kMostBytes) {
    return wrong(1, fmt::format("{} bytes are more than the {} of the largest table", text.size(),
                                kMostBytes));
  }
  TuningTable table;
  bool titled = false;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto fields = fields_of(take_line(text));
    if (fields.empty()) continue;
    if (!titled) {
      if (fields.size() != 2 || fmt::format("{} {}", fields[0], fields[1]) != kTitle) {
        return wrong(line, fmt::format("the first line must be \"{}\"", kTitle));
      }
      titled = true;
      continue;
    }
    if (fields.size() != kFields) {
      return wrong(line, fmt::format("a row has {} fields, not {}", kFields, fields.size()));
    }
    TuningRow row;
    if (const auto fault = read_row(fields, row)) {
      return wrong(line, fmt::format("\"{}\" is not {}", fault->word, fault->wanted));
    }
    table.add(row);
  }
  if (!titled) return wrong(1, fmt::format("the first line must be \"{}\"", kTitle));
  return table;
}

Result<TuningTable> TuningTable::load(const std::filesystem::path& file) {
  Result<std::string> text = read_regular_file(file, kMostBytes);
  if (!text) return Error{text.status(), "tuning table: " + text.error().text};
  return parse(*text, file.string());
}

}  // namespace gyre
