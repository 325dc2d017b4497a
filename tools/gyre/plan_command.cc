#include "tools/gyre/plan_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/parse_value.hpp"
#include "plan/forced_algorithm.hpp"
#include "plan/host_costs.hpp"
#include "plan/host_facts.hpp"
#include "plan/pricing.hpp"
#include "schedule/print.hpp"
#include "simulate/simulate.hpp"
#include "tools/gyre/ranges.hpp"
#include "tools/gyre/timeline_drawing.hpp"
#include "topology/discover.hpp"
#include "topology/synthetic.hpp"

namespace gyre::tools {
namespace {

// Beyond, a proof would take minutes; the tests prove larger worlds.
constexpr int kMostVerified = 128;
constexpr double kGigabyte = 1e9;

Error wrong(std::string text) {
  return {Status::invalid_argument, "gyre plan: " + std::move(text)};
}

Result<CallKind> find_kind(const PlanOptions& options) {
  const Result<CallKind> kind = find_planned(options.collective);
  return kind ? kind : wrong(kind.error().text);
}

Result<std::optional<topo::Topology>> find_topology(const PlanOptions& options) {
  if (!options.synthetic.empty()) {
    GYRE_TRY_ASSIGN(auto topology, topo::synthetic_topology(options.synthetic));
    return std::optional(std::move(topology));
  }
  if (options.topology.empty()) return std::optional<topo::Topology>();
  GYRE_TRY_ASSIGN(auto topology, topo::load_topology(options.topology));
  return std::optional(std::move(topology));
}

Result<PlanFacts> facts_of(const PlanOptions& options) {
  GYRE_TRY_ASSIGN(const std::optional<topo::Topology> topology, find_topology(options));
  HostFacts host{std::thread::hardware_concurrency(), 0};
  std::uint32_t hosts = 1;
  if (topology) {
    host = first_host(*topology);
    hosts = static_cast<std::uint32_t>(topology->hosts().size());
  }
  if (options.hosts != 0) hosts = options.hosts;
  if (options.host.cores != 0) host.cores = options.host.cores;
  if (options.host.nic_bytes_per_second != 0) {
    host.nic_bytes_per_second = options.host.nic_bytes_per_second;
  }
  if (options.ranks % hosts != 0) {
    return wrong(fmt::format("{} ranks cannot be spread evenly over {} hosts (-n, --hosts)",
                             options.ranks, hosts));
  }
  if (options.root >= options.ranks) {
    return wrong(fmt::format("rank {} cannot be the root of {} ranks; the last is {}", options.root,
                             options.ranks, options.ranks - 1));
  }
  PlanFacts facts;
  facts.world = static_cast<int>(options.ranks);
  facts.ranks_per_host = static_cast<int>(options.ranks / hosts);
  facts.reproducible = options.fixed_order;
  facts.slots = options.slots;
  facts.slot_bytes = options.slot_bytes;
  facts.one_shot_bytes = ~std::uint64_t{0};
  facts.machine = alike_hosts(hosts, options.ranks / hosts, host, options.within == "memory");
  GYRE_TRY_ASSIGN(facts.allowed, read_algorithm_list(options.nccl_algo));
  GYRE_TRY(force_algorithms(options.algorithm, facts));
  return facts;
}

// All that is shown.
struct Shown {
  PlanOptions options;
  PlanFacts facts;
  CallKind kind = CallKind::all_reduce;
  std::vector<Priced> prices;  // the fastest first
  Priced taken;
  bool by_wish = false;  // --algo took it, not its price
  std::string verdict;

  const CatalogueEntry& schedule() const { return *taken.candidate.schedule; }
  Program program(std::uint32_t rank) const {
    return schedule().build(rank, options.ranks, options.root,
                            static_cast<std::uint32_t>(facts.ranks_per_host));
  }
};

std::string verdict_on(const Shown& shown) {
  if (shown.facts.world > kMostVerified) {
    return fmt::format("not verified here: more than {} ranks", kMostVerified);
  }
  const CatalogueEntry& entry = shown.schedule();
  const auto per_host = static_cast<std::uint32_t>(shown.facts.ranks_per_host);
  const VerifyOptions options{
      .tiles = entry.min_slots + 2U, .slots = entry.min_slots, .by_reference = entry.by_reference};
  const auto report = verify(entry, shown.options.ranks, shown.options.root, options, per_host);
  if (!report) return "WRONG: " + report.error().text;
  return fmt::format(
      "verified: every contribution once, no deadlock with {} slot{} a lane (there are {}), no "
      "race; {} steps, {} messages of {} chunks in all a tile on the busiest rank",
      entry.min_slots, entry.min_slots == 1 ? "" : "s", shown.options.slots, report->steps,
      report->messages, report->sends);
}

std::string slice_text(const Candidate& candidate, const PlanFacts& facts) {
  return text_of_bytes(static_cast<std::int64_t>(slice_of(candidate.choice, facts)));
}

void pick(Shown& shown, Pricing& pricing) {
  const PlanOptions& options = shown.options;
  shown.prices = pricing.price(shown.kind, options.fixed_order, options.bytes);
  // As init decides: for all sizes of the class at once.
  const Choice choice =
      pricing.choose(shown.kind, options.fixed_order, size_class(options.bytes)).choice;
  shown.taken =
      pricing.price({choice, schedule_of(shown.kind, choice.algorithm)}, shown.kind, options.bytes);
  shown.by_wish = shown.facts.forced[index_of(shown.kind)].schedule != nullptr;
}

std::string machine_text(const Shown& shown) {
  const MachineFacts& machine = shown.facts.machine;
  const HostFacts& host = machine.hosts.front();
  const std::size_t hosts = machine.hosts.size();
  std::string text =
      hosts == 1 ? std::string("one host")
                 : fmt::format("{} hosts with {} ranks each", hosts, shown.facts.ranks_per_host);
  if (host.cores != 0) text += fmt::format(", {} cores", host.cores);
  if (shown.facts.ranks_per_host > 1) text += fmt::format(", {}", shown.options.within);
  if (hosts > 1) {
    text += host.nic_bytes_per_second > 0
                ? fmt::format(", NIC {:.4g} GB/s", host.nic_bytes_per_second / kGigabyte)
                : std::string(", NIC of unknown speed, taken for 1.25 GB/s");
  }
  return text;
}

std::string title_of(const Shown& shown) {
  return fmt::format("{} of {} between {} rank{}", name_of(*collective_of(shown.kind)),
                     text_of_bytes(static_cast<std::int64_t>(shown.options.bytes)),
                     shown.options.ranks, shown.options.ranks == 1 ? "" : "s");
}

std::string table_of(const Shown& shown) {
  std::string text =
      fmt::format("#   {:<20}{:>8}{:>14}{:>9}  {}\n", "schedule", "slices", "predicted", "", "by");
  const auto line = [&](const Priced& one, char mark) {
    return fmt::format("{}   {:<20}{:>8}{:>14}{:>8.2f}x  {}\n", mark,
                       one.candidate.schedule->algorithm, slice_text(one.candidate, shown.facts),
                       seconds_text(one.seconds), one.seconds / shown.prices.front().seconds,
                       one.measured ? "measurement" : "model");
  };
  if (shown.by_wish) text += line(shown.taken, '>');
  for (const Priced& one : shown.prices) {
    const bool taken = one.candidate.schedule == shown.taken.candidate.schedule &&
                       one.candidate.choice == shown.taken.candidate.choice;
    text += line(one, taken && !shown.by_wish ? '>' : ' ');
  }
  return text;
}

std::string reason_of(const Shown& shown) {
  if (shown.by_wish) return "> by --algo";
  const int size = size_class(shown.options.bytes);
  const auto bytes = [](std::uint64_t value) {
    return text_of_bytes(static_cast<std::int64_t>(value));
  };
  if (size + 1 == kSizeClasses)
    return fmt::format("> for all of more than {}", bytes(largest_of_class(size - 1)));
  return fmt::format("> for all of more than {} up to {}, by what the largest costs",
                     size == 0 ? "nothing" : bytes(largest_of_class(size - 1)),
                     bytes(largest_of_class(size)));
}

std::string text_of(const Shown& shown) {
  const std::uint32_t rank = std::min(shown.options.rank, shown.options.ranks - 1);
  return fmt::format("# {}: {}\n{}# {}\n\n{}\n{}\n", title_of(shown), machine_text(shown),
                     table_of(shown), reason_of(shown), print(shown.program(rank)), shown.verdict);
}

nlohmann::ordered_json json_of(const Priced& one, const PlanFacts& facts) {
  return {{"algorithm", one.candidate.schedule->algorithm},
          {"slice_bytes", slice_of(one.candidate.choice, facts)},
          {"predicted_us", one.seconds * 1e6},
          {"measured", one.measured}};
}

std::string json_text(const Shown& shown) {
  nlohmann::ordered_json json{
      {"collective", name_of(*collective_of(shown.kind))},
      {"ranks", shown.options.ranks},
      {"bytes", shown.options.bytes},
      {"hosts", shown.facts.machine.hosts.size()},
      {"ranks_per_host", shown.facts.ranks_per_host},
      {"within_hosts", shown.options.within},
      {"taken", json_of(shown.taken, shown.facts)},
      {"verdict", shown.verdict},
      {"program", print(shown.program(std::min(shown.options.rank, shown.options.ranks - 1)))}};
  for (const Priced& one : shown.prices) {
    json["candidates"].push_back(json_of(one, shown.facts));
  }
  return json.dump(2) + "\n";
}

Result<void> draw(const Shown& shown) {
  const CatalogueEntry& entry = shown.schedule();
  const auto per_host = static_cast<std::uint32_t>(shown.facts.ranks_per_host);
  const sim::Message message =
      sim::message_of(entry.kind, shown.options.bytes, shown.program(0),
                      slice_of(shown.taken.candidate.choice, shown.facts) /
                          entry.longest_run(shown.options.ranks, per_host));
  GYRE_TRY_ASSIGN(const sim::Timeline timeline,
                  sim::simulate([&](std::uint32_t rank) { return shown.program(rank); },
                                shown.options.ranks, model_of(shown.facts.machine, usual_costs()),
                                message, {.slots = shown.options.slots, .record = true}));
  GYRE_TRY_ASSIGN(const std::string svg,
                  draw_timeline(timeline, fmt::format("{}, {}", entry.algorithm, title_of(shown)),
                                machine_text(shown)));
  std::ofstream out(shown.options.svg, std::ios::binary);
  if (!(out << svg << std::flush)) return system_error("gyre plan: " + shown.options.svg, errno);
  return {};
}

}  // namespace

Result<std::string> plan_command(const PlanOptions& options) {
  Shown shown;
  shown.options = options;
  GYRE_TRY_ASSIGN(shown.kind, find_kind(options));
  GYRE_TRY_ASSIGN(shown.facts, facts_of(options));
  TuningTable table;
  if (!options.tuning.empty()) {
    GYRE_TRY_ASSIGN(table, TuningTable::load(options.tuning));
  }
  Pricing pricing(shown.facts, table);
  pick(shown, pricing);
  shown.verdict = verdict_on(shown);
  if (!options.svg.empty()) GYRE_TRY(draw(shown));
  return options.json ? json_text(shown) : text_of(shown);
}

}  // namespace gyre::tools
