#include "tools/gyre/simulate_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "schedule/cursor.hpp"
#include "simulate/simulate.hpp"
#include "tools/gyre/chart.hpp"
#include "tools/gyre/ranges.hpp"
#include "tools/gyre/timeline_drawing.hpp"

namespace gyre::tools {
namespace {

using Json = nlohmann::ordered_json;

// A few minutes.
constexpr double kMostMessages = 1e9;
constexpr std::size_t kMostLinesByRanks = 6, kMostLinesBySize = 4;

Error wrong(std::string text) {
  return {Status::invalid_argument, "gyre simulate: " + std::move(text)};
}

// Bytes that the busiest link carries for each byte of the message.
double bus_factor(CollectiveKind kind, std::uint32_t ranks) {
  using enum CollectiveKind;
  const double others = ranks > 1 ? static_cast<double>(ranks - 1) / ranks : 1;
  if (kind == all_reduce) return ranks > 1 ? 2 * others : 1;
  if (kind == broadcast || kind == reduce || kind == message) return 1;
  return others;
}

// Schedules for hosts need the same number of ranks on each.
std::uint32_t per_host_of(const SimulateOptions& options, std::uint32_t ranks) {
  const std::uint32_t per_host = options.hosts.ranks_per_host;
  if (per_host == 0) return ranks;
  return ranks % per_host == 0 ? per_host : 1;
}

sim::Message message_for(const CatalogueEntry& entry, std::uint32_t ranks, std::uint64_t bytes,
                         const SimulateOptions& options) {
  const std::uint32_t per_host = per_host_of(options, ranks);
  return sim::message_of(entry.kind, bytes, entry.build(0, ranks, options.root, per_host),
                         options.slot_bytes / entry.longest_run(ranks, per_host));
}

Result<sim::Timeline> simulate_call(const CatalogueEntry& entry, std::uint32_t ranks,
                                    std::uint64_t bytes, const SimulateOptions& options,
                                    bool record) {
  sim::Hosts hosts = options.hosts;
  if (!options.shared) hosts.nic_bytes_per_second = hosts.memory_bytes_per_second = hosts.cores = 0;
  GYRE_TRY_ASSIGN(const sim::Machine machine, sim::machine_of(hosts, ranks));
  const auto program = [&](std::uint32_t rank) {
    return entry.build(rank, ranks, options.root, per_host_of(options, ranks));
  };
  return sim::simulate(program, ranks, machine, message_for(entry, ranks, bytes, options),
                       {.slots = std::max(options.slots, entry.min_slots), .record = record});
}

Result<void> check_options(const SimulateOptions& options, const CatalogueEntry& entry) {
  for (const std::uint32_t ranks : options.ranks) {
    if (ranks > entry.max_world) {
      return wrong(fmt::format("{} {} is for at most {} ranks, not {}", entry.algorithm,
                               name_of(entry.kind), entry.max_world, ranks));
    }
    if (options.root < ranks) continue;
    return wrong(fmt::format("rank {} cannot be the root of {} ranks; the last is {}", options.root,
                             ranks, ranks - 1));
  }
  const bool one_call = options.ranks.size() == 1 && options.sizes.size() == 1;
  if (!options.timeline.empty() && !one_call) {
    return wrong("--timeline draws one call: give one number of ranks (-n) and one size (--sizes)");
  }
  return {};
}

Result<void> write_file(const std::string& to, const std::string& text) {
  std::ofstream out(to, std::ios::binary);
  if (!(out << text << std::flush)) return system_error("gyre simulate: " + to, errno);
  return {};
}

std::string header_text() {
  return fmt::format(
      "#{:>8} {:>11} {:>14} {:>12} {:>12} {:>12}\n#{:>8} {:>11} {:>14} {:>12} {:>12}\n", "ranks",
      "size", "time", "algbw", "busbw", "messages", "", "(B)", "(us)", "(GB/s)", "(GB/s)");
}

std::string row_text(const SimulatedRow& row) {
  return fmt::format(" {:>8} {:>11} {:>14.2f} {:>12.3f} {:>12.3f} {:>12}\n", row.ranks, row.bytes,
                     row.seconds * 1e6, row.algorithm_bandwidth / 1e9, row.bus_bandwidth / 1e9,
                     row.messages);
}

// At most `most` of the values, the first and the last among them.
template <typename Value>
std::vector<Value> spread(std::vector<Value> values, std::size_t most) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() <= most) return values;
  std::vector<Value> chosen;
  for (std::size_t i = 0; i < most; ++i) {
    chosen.push_back(values[i * (values.size() - 1) / (most - 1)]);
  }
  return chosen;
}

double microseconds(const SimulatedRow& row) { return row.seconds * 1e6; }
double bus_gigabytes(const SimulatedRow& row) { return row.bus_bandwidth / 1e9; }

// Lines of equal ranks over sizes.
Panel panel_over_sizes(const std::vector<SimulatedRow>& rows,
                       const std::vector<std::uint32_t>& ranks,
                       double (*value)(const SimulatedRow&)) {
  Panel panel;
  for (const std::uint32_t n : ranks) {
    Line line{fmt::format("{} ranks", n), {}, false};
    for (const SimulatedRow& row : rows) {
      if (row.ranks == n) line.points.push_back({static_cast<double>(row.bytes), value(row)});
    }
    panel.lines.push_back(std::move(line));
  }
  return panel;
}

// Lines of equal sizes over ranks.
Panel panel_over_ranks(const std::vector<SimulatedRow>& rows,
                       const std::vector<std::uint64_t>& sizes,
                       double (*value)(const SimulatedRow&)) {
  Panel panel;
  for (const std::uint64_t bytes : sizes) {
    Line line{bytes_text(static_cast<double>(bytes)), {}, false};
    for (const SimulatedRow& row : rows) {
      if (row.bytes == bytes) line.points.push_back({static_cast<double>(row.ranks), value(row)});
    }
    panel.lines.push_back(std::move(line));
  }
  panel.x_label = "ranks";
  panel.x_in_bytes = false;
  return panel;
}

std::string machine_text(const SimulateOptions& options) {
  const sim::Hosts& hosts = options.hosts;
  const auto link = [](const sim::LinkCost& cost) {
    return fmt::format("{}, {:.4g} GB/s", seconds_text(cost.latency), 1e-9 / cost.seconds_per_byte);
  };
  std::string text = link(hosts.other_host);
  if (hosts.ranks_per_host != 1) {
    text +=
        fmt::format("; {} ranks a host, within it {}", hosts.ranks_per_host, link(hosts.same_host));
  }
  if (options.shared && hosts.nic_bytes_per_second > 0) {
    text += fmt::format("; NIC {:.4g} GB/s", hosts.nic_bytes_per_second / 1e9);
  }
  return text;
}

Json machine_json(const SimulateOptions& options) {
  const sim::Hosts& hosts = options.hosts;
  const auto link = [](const sim::LinkCost& cost) {
    return Json{
        {"alpha", cost.latency}, {"beta", cost.seconds_per_byte}, {"credit", cost.credit_latency}};
  };
  Json json{{"ranks_per_host", hosts.ranks_per_host},
            {"same_host", link(hosts.same_host)},
            {"other_host", link(hosts.other_host)},
            {"step",
             {{"fixed", hosts.step.fixed},
              {"per_message", hosts.step.per_message},
              {"read_per_byte", hosts.step.read_per_byte},
              {"reduce_per_byte", hosts.step.reduce_per_byte},
              {"copy_per_byte", hosts.step.copy_per_byte},
              {"send_per_byte", hosts.step.send_per_byte}}},
            {"slots", options.slots},
            {"slot_bytes", options.slot_bytes}};
  if (options.shared) {
    json["shared"] = {{"nic", hosts.nic_bytes_per_second},
                      {"memory", hosts.memory_bytes_per_second},
                      {"cores", hosts.cores}};
  }
  return json;
}

Result<void> draw_call(const CatalogueEntry& entry, const SimulateOptions& options) {
  GYRE_TRY_ASSIGN(
      const sim::Timeline timeline,
      simulate_call(entry, options.ranks.front(), options.sizes.front(), options, true));
  const std::string title =
      fmt::format("{} {}, {} ranks, {}", entry.algorithm, name_of(entry.kind),
                  options.ranks.front(), bytes_text(static_cast<double>(options.sizes.front())));
  GYRE_TRY_ASSIGN(const std::string svg, draw_timeline(timeline, title, machine_text(options)));
  return write_file(options.timeline, svg);
}

}  // namespace

Result<const CatalogueEntry*> find_entry(const SimulateOptions& options) {
  std::vector<std::string_view> algorithms, collectives;
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string_view name = name_of(entry.kind);
    if (name == options.collective && entry.algorithm == options.algorithm) return &entry;
    if (name == options.collective) algorithms.push_back(entry.algorithm);
    if (std::find(collectives.begin(), collectives.end(), name) == collectives.end()) {
      collectives.push_back(name);
    }
  }
  if (algorithms.empty()) {
    return wrong(fmt::format("\"{}\" is no collective; known are {}", options.collective,
                             fmt::join(collectives, ", ")));
  }
  return wrong(fmt::format("{} has no algorithm \"{}\"; it has {} (--algorithm)",
                           options.collective, options.algorithm, fmt::join(algorithms, ", ")));
}

double count_messages(const CatalogueEntry& entry, std::uint32_t ranks, std::uint64_t bytes,
                      const SimulateOptions& options) {
  double messages = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Program program = entry.build(rank, ranks, options.root, per_host_of(options, ranks));
    for (std::uint32_t l = 0; l < program.loop_count; ++l) {
      const Loop& loop = program.loops[l];
      for (std::uint32_t s = loop.first_step; s < loop.first_step + loop.steps; ++s) {
        const Peers& to = program.steps[s].send;
        const auto peers = peers_of({to.first, to.count, to.stride}, rank, ranks).size();
        messages += static_cast<double>(loop.trips) * peers;
      }
    }
  }
  return messages * static_cast<double>(message_for(entry, ranks, bytes, options).tiles);
}

Result<SimulatedRow> simulate_row(const CatalogueEntry& entry, std::uint32_t ranks,
                                  std::uint64_t bytes, const SimulateOptions& options) {
  GYRE_TRY_ASSIGN(const sim::Timeline timeline, simulate_call(entry, ranks, bytes, options, false));
  SimulatedRow row;
  row.ranks = ranks;
  row.bytes = bytes;
  row.seconds = timeline.seconds;
  row.messages = timeline.messages;
  if (row.seconds > 0) row.algorithm_bandwidth = static_cast<double>(bytes) / row.seconds;
  row.bus_bandwidth = row.algorithm_bandwidth * bus_factor(entry.kind, ranks);
  return row;
}

std::string simulated_json(const std::vector<SimulatedRow>& rows, const SimulateOptions& options) {
  Json json{{"collective", options.collective},
            {"algorithm", options.algorithm},
            {"machine", machine_json(options)},
            {"rows", Json::array()}};
  for (const SimulatedRow& row : rows) {
    json["rows"].push_back({{"ranks", row.ranks},
                            {"bytes", row.bytes},
                            {"time_us", microseconds(row)},
                            {"alg_gbps", row.algorithm_bandwidth / 1e9},
                            {"bus_gbps", bus_gigabytes(row)},
                            {"messages", row.messages}});
  }
  return json.dump(2) + "\n";
}

std::string simulated_svg(const std::vector<SimulatedRow>& rows, const SimulateOptions& options) {
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint64_t> sizes;
  for (const SimulatedRow& row : rows) {
    ranks.push_back(row.ranks);
    sizes.push_back(row.bytes);
  }
  ranks = spread(ranks, kMostLinesByRanks);
  sizes = spread(sizes, kMostLinesBySize);
  std::vector<Panel> panels;
  const auto add = [&](Panel panel, const char* title, const char* y_label) {
    panel.title = title;
    panel.y_label = y_label;
    panels.push_back(std::move(panel));
  };
  if (sizes.size() > 1 || ranks.size() == 1) {
    add(panel_over_sizes(rows, ranks, microseconds), "time over size", "time, us");
    add(panel_over_sizes(rows, ranks, bus_gigabytes), "bus bandwidth over size",
        "bus bandwidth, GB/s");
  }
  if (ranks.size() > 1) {
    add(panel_over_ranks(rows, sizes, microseconds), "time over ranks", "time, us");
    add(panel_over_ranks(rows, sizes, bus_gigabytes), "bus bandwidth over ranks",
        "bus bandwidth, GB/s");
  }
  return chart_svg(panels, fmt::format("{} {}, simulated: {}", options.algorithm,
                                       options.collective, machine_text(options)));
}

Result<void> simulate_command(const SimulateOptions& options) {
  GYRE_TRY_ASSIGN(const CatalogueEntry* entry, find_entry(options));
  GYRE_TRY(check_options(options, *entry));
  std::vector<SimulatedRow> rows;
  if (!options.json) {
    fmt::print("# {} {}: {}\n{}", options.algorithm, options.collective, machine_text(options),
               header_text());
  }
  for (const std::uint32_t ranks : options.ranks) {
    for (const std::uint64_t bytes : options.sizes) {
      const double messages = count_messages(*entry, ranks, bytes, options);
      if (messages > kMostMessages) {
        fmt::print(stderr,
                   "# left out: {} ranks, {}: {:.2g} messages. Larger slots (--slot-bytes) "
                   "make fewer\n",
                   ranks, bytes_text(static_cast<double>(bytes)), messages);
        continue;
      }
      GYRE_TRY_ASSIGN(const SimulatedRow row, simulate_row(*entry, ranks, bytes, options));
      rows.push_back(row);
      if (options.json) continue;
      fmt::print("{}", row_text(row));
      std::fflush(stdout);
    }
  }
  if (options.json) fmt::print("{}", simulated_json(rows, options));
  if (!options.svg.empty()) GYRE_TRY(write_file(options.svg, simulated_svg(rows, options)));
  if (!options.timeline.empty()) GYRE_TRY(draw_call(*entry, options));
  return {};
}

}  // namespace gyre::tools
