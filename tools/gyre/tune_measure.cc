#include "tools/gyre/tune_measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fd.hpp"
#include "tools/gyre/child.hpp"
#include "tools/gyre/interrupts.hpp"

namespace gyre::tools {
namespace {

// A launch that takes longer than its sizes' time and this hangs.
constexpr double kPatience = 30;
constexpr double kMostSizes = 64;

std::string program_of(CallKind kind) {
  if (kind == CallKind::all_to_all) return "alltoall_perf";
  return fmt::format("{}_perf", name_of(*collective_of(kind)));
}

std::string wish_of(const TuneLaunch& launch) {
  std::string wish =
      fmt::format("{}:{}", name_of(*collective_of(launch.kind)), name_of(launch.choice.algorithm));
  if (launch.choice.slice_bytes != 0) wish += fmt::format("@{}", launch.choice.slice_bytes);
  return wish;
}

std::vector<std::string> command_of(const TuneLaunch& launch, const std::string& report) {
  std::vector<std::string> command = {
      "/proc/self/exe",
      "run",
      "-n",
      fmt::format("{}", launch.ranks),
      "--timeout",
      fmt::format("{}", kPatience + kMostSizes * launch.seconds),
      "--bind-to",  // where the system puts ranks differs from launch to launch
      "core",
      "-e",
      "GYRE_ALGO=" + wish_of(launch),
      "-e",
      "GYRE_TUNING_FILE="};
  if (!launch.memory) {
    command.insert(command.end(), {"-e", "NCCL_SHM_DISABLE=1", "-e", "NCCL_P2P_DISABLE=1"});
  }
  command.insert(command.end(), {fmt::format("{}/{}", launch.programs, program_of(launch.kind)),
                                 "-b",
                                 fmt::format("{}", launch.least),
                                 "-e",
                                 fmt::format("{}", launch.most),
                                 "-f",
                                 fmt::format("{}", launch.factor),
                                 "-y",
                                 "1",
                                 "-a",
                                 "3",
                                 "-n",
                                 "2",
                                 "-w",
                                 "2",
                                 "--seconds",
                                 fmt::format("{}", launch.seconds),
                                 "--device",
                                 "host",
                                 "--memory_kind",
                                 "plain",
                                 "-J",
                                 report});
  return command;
}

// A folder that goes with its owner.
class Scratch {
 public:
  static Result<Scratch> make() {
    std::error_code fault;
    const auto folder = std::filesystem::temp_directory_path(fault);
    if (fault) return system_error("gyre tune: the temporary folder (TMPDIR)", fault.value());
    std::string path = (folder / "gyre-tune-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return system_error("gyre tune: " + path, errno);
    return Scratch(std::move(path));
  }
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// What the program said last, and what the launcher said first of its end.
std::string last_words(const std::string& path) {
  std::ifstream in(path);
  std::string line, own, launcher;
  while (std::getline(in, line)) {
    const std::size_t launchers = line.find("gyre run: ");
    if (launchers != std::string::npos && launcher.empty()) launcher = line.substr(launchers);
    if (launchers != std::string::npos || line.find_first_not_of(" \t#-=") == line.npos) continue;
    own = line;
  }
  if (launcher.empty()) return own.empty() ? "it said nothing" : own;
  return own.empty() ? launcher : fmt::format("{} ({})", own, launcher);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) all.emplace_back(*one);
  return all;
}

}  // namespace

Result<std::vector<Measured>> read_report(CallKind kind, std::string_view json) {
  const auto bad = [](const std::string& why) {
    return Error{Status::internal, "gyre tune: the report is none of a *_perf program: " + why};
  };
  // Of a broadcast only the in-place form is one operation: else the root also copies its own data.
  const char* column = kind == CallKind::broadcast ? "in_place" : "out_of_place";
  try {
    const auto report = nlohmann::json::parse(json);
    std::vector<Measured> rows;
    for (const auto& row : report.at("results")) {
      const auto& cell = row.at(column);
      const double wrong = cell.at("nwrong").get<double>();
      const auto bytes = row.at("size").get<std::uint64_t>();
      if (wrong != 0) {
        return Error{Status::internal,
                     fmt::format("gyre tune: {} wrong elements at {} bytes", wrong, bytes)};
      }
      rows.push_back({bytes, cell.at("time").get<double>() * 1e-6});
    }
    return rows;
  } catch (const nlohmann::json::exception& error) {
    return bad(error.what());
  }
}

Result<std::vector<Measured>> measure(const TuneLaunch& launch) {
  // First: a request to end waits until the folder is gone.
  GYRE_TRY_ASSIGN(const Interrupts interrupts, Interrupts::hold());
  GYRE_TRY_ASSIGN(const Scratch scratch, Scratch::make());
  const std::string report = scratch.file("report.json"), output = scratch.file("output");
  const Fd out(::open(output.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (!out) return system_error("gyre tune: " + output, errno);
  ChildSpec spec;
  spec.command = command_of(launch, report);
  spec.environment = own_environment();
  spec.out = spec.err = out.get();
  spec.mask = interrupts.before();
  GYRE_TRY_ASSIGN(const pid_t child, start_child(spec));
  GYRE_TRY_ASSIGN(const int status, interrupts.await(child));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{Status::internal, fmt::format("gyre tune: {} on {} ranks failed: {}",
                                               wish_of(launch), launch.ranks, last_words(output))};
  }
  return read_report(launch.kind, text_of_file(report));
}

}  // namespace gyre::tools
