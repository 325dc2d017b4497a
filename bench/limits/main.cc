// Prints, as JSON, what some cores of this machine can do at best: the floor under every collective
// between host ranks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/limits/latency.hpp"
#include "bench/limits/memory.hpp"
#include "bench/limits/tcp.hpp"

namespace gyre::limits {
namespace {

// The first two that this process may use, or one.
Cores two_cores() {
  Cores cores;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
  }
  return cores;
}

// Latencies and connections of the first two cores, memory of all of them.
nlohmann::ordered_json measure(const Cores& cores, const std::vector<std::size_t>& sizes,
                               std::size_t span, double seconds) {
  if (cores.size() < 2) throw std::runtime_error("two cores are needed, and there is one");
  const Cores pair{cores[0], cores[1]};
  nlohmann::ordered_json report;
  report["cores"] = cores;
  report["flag_us"] = flag_micros(pair, seconds);
  const TcpRate tcp = tcp_rate(pair, seconds);
  report["tcp_us"] = tcp.micros;
  report["tcp_stream_gbps"] = tcp.stream_gbps;
  report["tcp_duplex_gbps"] = tcp.duplex_gbps;
  report["memory"] = nlohmann::ordered_json::array();
  for (const std::size_t bytes : sizes) span = std::max(span, bytes);
  const MemoryLimits memory(cores, span);
  for (const std::size_t bytes : sizes) {
    const MemoryRate rate = memory.rate(bytes, seconds);
    report["memory"].push_back(
        {{"bytes", bytes}, {"copy_gbps", rate.copy_gbps}, {"sum_gbps", rate.sum_gbps}});
  }
  return report;
}

int execute(int argc, char** argv) {
  CLI::App app{"What some cores of this machine can do at best", "host_limits"};
  Cores cores;
  std::vector<std::size_t> sizes{4096, 65536, 1 << 20, 16 << 20, 64 << 20};
  std::size_t span = 0;
  double seconds = 0.1;
  app.add_option("--sizes", sizes, "Bytes of the arrays")->delimiter(',');
  app.add_option(
      "--span", span,
      "Bytes of the larger arrays of which each repetition takes the next part (default: "
      "the largest of the sizes)");
  app.add_option("--cores", cores, "CPUs to measure, one of each core (default: the first two)")
      ->delimiter(',')
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  app.add_option("--seconds", seconds, "For each figure")->check(CLI::Range(0.0, 60.0));
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{}\n", measure(cores.empty() ? two_cores() : cores, sizes, span, seconds).dump(1));
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "host_limits: {}\n", failure.what());
    return 1;
  }
}

}  // namespace
}  // namespace gyre::limits

int main(int argc, char** argv) { return gyre::limits::execute(argc, argv); }
