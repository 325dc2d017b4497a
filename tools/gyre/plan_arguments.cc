#include "tools/gyre/plan_arguments.hpp"

#include <optional>
#include <string>

#include "collectives/catalogue.hpp"
#include "tools/gyre/add_value.hpp"
#include "tools/gyre/ranges.hpp"

namespace gyre::tools {
namespace {

// What GYRE_SLOT_BYTES takes.
std::optional<std::int64_t> parse_slot_bytes(const std::string& text) {
  constexpr std::int64_t kPage = 4 << 10, kMost = 64 << 20;
  const auto bytes = parse_size(text);
  return bytes && *bytes % kPage == 0 && *bytes <= kMost ? bytes : std::nullopt;
}

void add_machine(CLI::App* app, PlanOptions& options) {
  auto* file =
      app->add_option("--topology", options.topology,
                      "Hosts, cores and NICs of this file: NCCL_TOPO_FILE's XML or hwloc's");
  app->add_option("--synthetic", options.synthetic,
                  "Those of a made-up machine, as gyre topo --synthetic names them")
      ->excludes(file);
  app->add_option("--hosts", options.hosts, "With as many consecutive ranks each (1)")
      ->check(CLI::Range(1, 65'534));
  app->add_option("--cores", options.host.cores, "Of a host (those of this one)")
      ->check(CLI::Range(1, 65'536));
  add_value(app, "--nic-bandwidth", options.host.nic_bytes_per_second, parse_rate, "25GB/s",
            "Of a host, in each direction (1.25GB/s)");
  app->add_option("--within", options.within, "How ranks of a host reach each other")
      ->check(CLI::IsMember({"memory", "socket"}))
      ->capture_default_str();
}

}  // namespace

CLI::App* add_plan(CLI::App& app, PlanOptions& options) {
  auto* plan = app.add_subcommand(
      "plan", "Show which schedule would run, and why: gyre plan all_reduce -n 8 --size 64M");
  plan->footer(
      "Times are those of host ranks, by the cost model or, with --tuning, corrected by\n"
      "measurements. Sizes are of the larger of a rank's buffers.");
  plan->add_option("collective", options.collective, "all_reduce, all_gather, ...")
      ->capture_default_str();
  plan->add_option("-n,--ranks", options.ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1U, CatalogueEntry::kMaxWorld));
  add_value(plan, "-s,--size", options.bytes, parse_size, "64M", "Message size")->required();
  plan->add_option("--root", options.root, "Of rooted collectives (0)");
  plan->add_option("--rank", options.rank, "Whose program is printed (1)");
  add_machine(plan, options);
  plan->add_option("-a,--algo", options.algorithm,
                   "Take this schedule, as GYRE_ALGO does: tree, or tree@16K for short slices");
  plan->add_option("--nccl-algo", options.nccl_algo, "Choose among these, as NCCL_ALGO does");
  plan->add_flag("--fixed-order", options.fixed_order,
                 "Only schedules that fold in rank order, as averages, low-precision types and "
                 "GYRE_REPRODUCIBLE=1 take");
  plan->add_option("--tuning", options.tuning, "A table that gyre tune wrote");
  plan->add_option("--slots", options.slots, "Slots of a lane (4)")->check(CLI::Range(4, 64));
  add_value(plan, "--slot-bytes", options.slot_bytes, parse_slot_bytes, "128K",
            "Size of a slot, a multiple of 4K to 64M (128K)");
  plan->add_flag("--json", options.json, "For programs");
  plan->add_option("--svg", options.svg, "Draw the steps and messages of the call into this file");
  return plan;
}

}  // namespace gyre::tools
