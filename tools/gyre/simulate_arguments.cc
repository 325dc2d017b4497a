#include "tools/gyre/simulate_arguments.hpp"

#include <optional>
#include <string>

#include "base/parse_value.hpp"
#include "tools/gyre/add_value.hpp"
#include "tools/gyre/ranges.hpp"

namespace gyre::tools {
namespace {

// Time per byte of a rate.
std::optional<double> parse_per_byte(const std::string& text) {
  const auto rate = parse_rate(text);
  if (!rate) return std::nullopt;
  return 1 / *rate;
}

std::optional<std::int64_t> parse_slot(const std::string& text) {
  const auto bytes = parse_bytes(text);
  constexpr std::int64_t kLeast = 64;
  return bytes && *bytes >= kLeast ? bytes : std::nullopt;
}

void add_links(CLI::App* app, SimulateOptions& options) {
  sim::Hosts& hosts = options.hosts;
  add_value(app, "--alpha", hosts.other_host.latency, parse_seconds, "5us",
            "Latency of a message (5us)");
  add_value(app, "--bandwidth", hosts.other_host.seconds_per_byte, parse_per_byte, "25GB/s",
            "What one pair of ranks moves alone (25GB/s)");
  app->add_option("--ranks-per-host", hosts.ranks_per_host,
                  "Consecutive ranks that share a host, a NIC and its cores (1)")
      ->check(CLI::Range(1, 65'535));
  add_value(app, "--local-alpha", hosts.same_host.latency, parse_seconds, "1us",
            "The same within a host (1us)");
  add_value(app, "--local-bandwidth", hosts.same_host.seconds_per_byte, parse_per_byte, "200GB/s",
            "The same within a host (200GB/s)");
  add_value(app, "--credit", hosts.other_host.credit_latency, parse_seconds, "5us",
            "How long the word takes that a slot is free again (0)");
  add_value(app, "--local-credit", hosts.same_host.credit_latency, parse_seconds, "1us",
            "The same within a host (0)");
}

void add_steps(CLI::App* app, SimulateOptions& options) {
  sim::StepCost& step = options.hosts.step;
  add_value(app, "--step", step.fixed, parse_seconds, "500ns", "What every step takes (0)");
  add_value(app, "--per-message", step.per_message, parse_seconds, "200ns",
            "What each message taken or sent adds to a step (0)");
  add_value(app, "--read-bandwidth", step.read_per_byte, parse_per_byte, "30GB/s",
            "At what rate a step reads its first operand (no time)");
  add_value(app, "--reduce-bandwidth", step.reduce_per_byte, parse_per_byte, "30GB/s",
            "At what rate it folds each further one (no time)");
  add_value(app, "--copy-bandwidth", step.copy_per_byte, parse_per_byte, "30GB/s",
            "At what rate a result is stored (no time)");
  add_value(app, "--send-bandwidth", step.send_per_byte, parse_per_byte, "30GB/s",
            "At what rate a rank fills the slots that it sends (no time)");
  app->add_option("--slots", options.slots, "Slots of a lane (4)")->check(CLI::Range(1, 4096));
  add_value(app, "--slot-bytes", options.slot_bytes, parse_slot, "128K", "Size of a slot (128K)");
}

void add_sharing(CLI::App* app, SimulateOptions& options) {
  sim::Hosts& hosts = options.hosts;
  auto* shared = app->add_flag("--shared", options.shared,
                               "Messages share NICs, memory and cores, max-min fairly");
  add_value(app, "--nic-bandwidth", hosts.nic_bytes_per_second, parse_rate, "25GB/s",
            "Of a host, in each direction (that of --bandwidth)")
      ->needs(shared);
  add_value(app, "--memory-bandwidth", hosts.memory_bytes_per_second, parse_rate, "400GB/s",
            "Of all messages within a host together (not shared)")
      ->needs(shared);
  app->add_option("--cores", hosts.cores, "That the steps of a host's ranks share (not shared)")
      ->check(CLI::Range(0.01, 1e6))
      ->needs(shared);
}

}  // namespace

CLI::App* add_simulate(CLI::App& app, SimulateOptions& options) {
  options.hosts.ranks_per_host = 1;
  options.hosts.other_host = {.latency = 5e-6, .seconds_per_byte = 1 / 25e9};
  options.hosts.same_host = {.latency = 1e-6, .seconds_per_byte = 1 / 200e9};

  auto* simulate = app.add_subcommand(
      "simulate",
      "Predict times on a machine that is not here: gyre simulate all_reduce -n 8..1024");
  simulate->footer(
      "Ranges go by doublings (-n 8..1024) and fourfolds (--sizes 1K..1G); lists have commas. "
      "Sizes "
      "are\nof the larger of a rank's buffers. GB is 10^9 bytes, GiB 2^30, Gb 10^9 bits.");
  simulate->add_option("collective", options.collective, "all_reduce, all_gather, ...")
      ->capture_default_str();
  simulate->add_option("-a,--algorithm", options.algorithm, "One that the collective has")
      ->capture_default_str();
  simulate->add_option("--root", options.root, "Of rooted collectives (0)");
  add_value(simulate, "-n,--ranks", options.ranks, parse_ranks, "8..1024", "Numbers of ranks")
      ->required();
  options.sizes = *parse_sizes("1K..1G");
  add_value(simulate, "--sizes", options.sizes, parse_sizes, "1K..1G", "Message sizes (1K..1G)");
  add_links(simulate, options);
  add_steps(simulate, options);
  add_sharing(simulate, options);
  simulate->add_flag("--json", options.json, "The rows as JSON, on standard output");
  simulate->add_option("--svg", options.svg, "Draw the curves into this file");
  simulate->add_option("--timeline", options.timeline,
                       "Draw the steps and messages of one call into this file");
  return simulate;
}

}  // namespace gyre::tools
