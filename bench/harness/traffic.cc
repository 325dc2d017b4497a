#include "bench/harness/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "bench/harness/failure.hpp"

namespace gyre::bench {
namespace {

constexpr std::size_t kUnit = 16;
constexpr double kMostBytes = 9.2e18;
constexpr std::size_t kMostText = 256U << 20;

constexpr std::size_t align_down(std::size_t bytes) { return bytes / kUnit * kUnit; }

// A decimal number that is the whole word.
std::optional<double> parse_number(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0') return std::nullopt;
  return value;
}

double environment_number(const char* name, double fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : parse_number(text).value_or(fallback);
}

std::vector<std::string> split_words(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

void append_row(TrafficMatrix& matrix, std::size_t row, const std::vector<std::string>& words,
                double scale) {
  for (std::size_t column = 0; column < words.size(); ++column) {
    const double bytes = parse_number(words[column]).value_or(-1) * scale;
    if (!(bytes >= 0) || bytes > kMostBytes) {
      throw Failure(
          ExitCode::internal,
          fmt::format("traffic matrix: '{}' in row {}, column {} is not a number of bytes",
                      words[column], row, column));
    }
    matrix.bytes.push_back(align_down(static_cast<std::size_t>(bytes)));
  }
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(ExitCode::internal, fmt::format("cannot read traffic matrix {}", path));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() > kMostText) {
    throw Failure(ExitCode::internal, fmt::format("traffic matrix {} is too large", path));
  }
  return text;
}

}  // namespace

TrafficMatrix parse_traffic(std::string_view text, double scale) {
  TrafficMatrix matrix;
  std::size_t rows = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto words = split_words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (rows == 0) matrix.size = words.size();
    if (words.size() != matrix.size) {
      throw Failure(ExitCode::internal, fmt::format("traffic matrix: row {} has {} columns, not {}",
                                                    rows, words.size(), matrix.size));
    }
    append_row(matrix, rows++, words, scale);
  }
  if (rows == 0 || rows != matrix.size) {
    throw Failure(ExitCode::internal, fmt::format("traffic matrix: must be square, has {} rows of "
                                                  "{} columns",
                                                  rows, matrix.size));
  }
  return matrix;
}

Traffic Traffic::generated(double spread) {
  Traffic traffic;
  traffic.spread_ = std::clamp(spread, 0.0, 1.0);
  return traffic;
}

Traffic Traffic::from_matrix(TrafficMatrix matrix, double scale) {
  Traffic traffic;
  traffic.matrix_ = std::move(matrix);
  traffic.scale_ = scale;
  return traffic;
}

Traffic Traffic::from_environment() {
  const char* path = std::getenv("NCCL_TESTS_ALLTOALLV_MATRIX_FILE");
  if (path == nullptr) return generated(environment_number("NCCL_TESTS_ALLTOALLV_SPREAD", 1));
  const double scale = std::max(0.0, environment_number("NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", 1));
  return from_matrix(parse_traffic(read_text(path), scale), scale);
}

std::size_t Traffic::bytes(int from, int to, int ranks, std::size_t total) const {
  if (!is_generated()) return matrix_.at(from, to);
  if (ranks == 1) return align_down(total);
  const double all = static_cast<double>(total);
  const double distance = (to - from + ranks) % ranks;
  const double distances = static_cast<double>(ranks) * (ranks - 1) / 2;
  const double share = (1 - spread_) / ranks + spread_ * distance / distances;
  return align_down(static_cast<std::size_t>(all * share));
}

std::size_t Traffic::sent(int rank, int ranks, std::size_t total) const {
  std::size_t sum = 0;
  for (int peer = 0; peer < ranks; ++peer) sum += bytes(rank, peer, ranks, total);
  return sum;
}

std::size_t Traffic::received(int rank, int ranks, std::size_t total) const {
  std::size_t sum = 0;
  for (int peer = 0; peer < ranks; ++peer) sum += bytes(peer, rank, ranks, total);
  return sum;
}

std::string Traffic::describe(int ranks, std::size_t total) const {
  if (is_generated()) {
    return fmt::format("mode=generated nranks={} total_bytes={} spread={:.3f}", ranks, total,
                       spread_);
  }
  return fmt::format("mode=matrix nranks={} matrix_dim={} scale={:.3f}", ranks, matrix_.size,
                     scale_);
}

}  // namespace gyre::bench
