#include "tools/gyre/tune_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/parse_value.hpp"
#include "base/settings.hpp"
#include "plan/pricing.hpp"
#include "tools/gyre/progress_bar.hpp"
#include "tools/gyre/table_file.hpp"
#include "tools/gyre/tune_measure.hpp"

namespace gyre::tools {
namespace {

constexpr std::uint32_t kMostRanks = 1024;

Error wrong(std::string text) {
  return {Status::invalid_argument, "gyre tune: " + std::move(text)};
}

Result<std::vector<CallKind>> kinds_of(const TuneOptions& options) {
  if (options.collectives.empty()) {
    return std::vector<CallKind>(kPlannedKinds.begin(), kPlannedKinds.end());
  }
  std::vector<CallKind> kinds;
  for (const std::string& word : options.collectives) {
    const Result<CallKind> kind = find_planned(word);
    if (!kind) return wrong(kind.error().text);
    kinds.push_back(*kind);
  }
  return kinds;
}

// A communicator of ranks of this machine, as the launches make it.
PlanFacts facts_of(const TuningPlace& place, std::uint32_t cores, const Settings& settings) {
  PlanFacts facts;
  facts.world = static_cast<int>(place.world);
  facts.ranks_per_host = static_cast<int>(place.ranks_per_host);
  facts.slots = static_cast<std::uint32_t>(settings.slots);
  facts.slot_bytes = static_cast<std::uint64_t>(settings.slot_bytes);
  facts.one_shot_bytes = ~std::uint64_t{0};
  facts.allowed.fill(kAllAlgorithms);
  facts.machine = alike_hosts(1, place.world, {cores, 0}, place.memory_within_hosts);
  return facts;
}

std::vector<TuneLaunch> launches_of(const TuneOptions& options, const std::vector<CallKind>& kinds,
                                    const Settings& settings) {
  std::vector<TuneLaunch> launches;
  for (const std::string& within : options.within) {
    for (const std::uint32_t ranks : options.ranks) {
      const PlanFacts facts = facts_of({ranks, ranks, within == "memory"},
                                       std::thread::hardware_concurrency(), settings);
      for (const CallKind kind : kinds) {
        for (const Candidate& one : candidates_for(kind, false, facts)) {
          if (one.choice.slice_bytes != 0 && !options.slices) continue;
          launches.push_back({kind, ranks, one.choice, within == "memory", options.least,
                              options.most, options.factor, options.seconds, options.programs});
        }
      }
    }
  }
  return launches;
}

std::string name_of_launch(const TuneLaunch& launch) {
  return fmt::format("{} {}, {} ranks, {}", name_of(launch.choice.algorithm),
                     name_of(*collective_of(launch.kind)), launch.ranks,
                     launch.memory ? "memory" : "socket");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What one launch measured, round by round.
struct Series {
  std::map<std::uint64_t, std::vector<double>> seconds;  // by bytes
  std::string fault;                                     // why it was left out from then on
};

void take_round(const TuneLaunch& launch, Series& series) {
  if (!series.fault.empty()) return;
  const auto rows = measure(launch);
  if (!rows) {
    series.fault = rows.error().text;
    return;
  }
  for (const Measured& row : *rows) {
    // The programs round down to whole elements of every rank.
    if (row.bytes != 0) series.seconds[row.bytes].push_back(row.seconds);
  }
}

std::string remark_on(const TuneLaunch& launch, const Series& series) {
  if (!series.fault.empty()) return fmt::format("# left out: {}\n", series.fault);
  if (!series.seconds.empty()) return "";
  return fmt::format("# left out: {}: no size has an element for every rank\n",
                     name_of_launch(launch));
}

// The medians of all rounds.
std::vector<TuningRow> measure_all(const std::vector<TuneLaunch>& launches, std::uint32_t rounds) {
  std::vector<Series> all(launches.size());
  {
    ProgressBar bar(launches.size() * rounds);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < launches.size(); ++i) {
        bar.step(name_of_launch(launches[i]));
        take_round(launches[i], all[i]);
      }
    }
  }
  std::vector<TuningRow> rows;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const TuneLaunch& launch = launches[i];
    fmt::print(stderr, "{}", remark_on(launch, all[i]));
    for (const auto& [bytes, seconds] : all[i].seconds) {
      rows.push_back({launch.kind,
                      {launch.ranks, launch.ranks, launch.memory},
                      bytes,
                      launch.choice,
                      median(seconds)});
    }
  }
  return rows;
}

std::string choice_text(const Choice& choice) {
  std::string text(name_of(choice.algorithm));
  if (choice.slice_bytes != 0) {
    text += "@" + text_of_bytes(static_cast<std::int64_t>(choice.slice_bytes));
  }
  return text;
}

std::string heading() {
  return fmt::format("#{:<15}{:>6} {:<7}{:>10}  {:<20}{:>11}  {:<20}{:>11}{:>8}\n", "collective",
                     "ranks", "within", "bytes", "fastest", "us", "untuned", "us", "regret");
}

std::string line_of(const TunedSize& one) {
  return fmt::format(" {:<15}{:>6} {:<7}{:>10}  {:<20}{:>11.2f}  {:<20}{:>11.2f}{:>7.0f}%\n",
                     name_of(*collective_of(one.kind)), one.place.world,
                     one.place.memory_within_hosts ? "memory" : "socket", one.bytes,
                     choice_text(one.best), one.best_seconds * 1e6, choice_text(one.untuned),
                     one.untuned_seconds * 1e6, one.regret() * 100);
}

nlohmann::ordered_json json_of(const TunedSize& one) {
  return {{"collective", name_of(*collective_of(one.kind))},
          {"ranks", one.place.world},
          {"within", one.place.memory_within_hosts ? "memory" : "socket"},
          {"bytes", one.bytes},
          {"fastest", choice_text(one.best)},
          {"fastest_us", one.best_seconds * 1e6},
          {"untuned", choice_text(one.untuned)},
          {"untuned_us", one.untuned_seconds * 1e6}};
}

// By collective and place, in the order measured.
std::vector<TunedSize> all_tuned(const std::vector<TuningRow>& rows) {
  std::vector<TunedSize> all;
  for (auto rest = rows.begin(); rest != rows.end();) {
    const auto end = std::find_if(rest, rows.end(), [&](const TuningRow& row) {
      return row.kind != rest->kind || !(row.place == rest->place);
    });
    const auto some = tuned_sizes({rest, end}, std::thread::hardware_concurrency());
    all.insert(all.end(), some.begin(), some.end());
    rest = end;
  }
  return all;
}

void show(const std::vector<TunedSize>& tuned, const TuneOptions& options) {
  if (options.json) {
    nlohmann::ordered_json json{{"table", options.output},
                                {"rows", nlohmann::ordered_json::array()}};
    for (const TunedSize& one : tuned) json["rows"].push_back(json_of(one));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", heading());
  double worst = 0;
  for (const TunedSize& one : tuned) {
    fmt::print("{}", line_of(one));
    worst = std::max(worst, one.regret());
  }
  const auto within = std::count_if(tuned.begin(), tuned.end(),
                                    [](const TunedSize& one) { return one.regret() <= 0.10; });
  fmt::print(
      "# without the table {} of {} sizes are within 10 % of the fastest, the worst {:.0f} % "
      "behind\n# written: {} (GYRE_TUNING_FILE)\n",
      within, tuned.size(), worst * 100, options.output);
}

}  // namespace

std::vector<TunedSize> tuned_sizes(const std::vector<TuningRow>& rows, std::uint32_t cores) {
  if (rows.empty()) return {};
  const CallKind kind = rows.front().kind;
  const TuningPlace place = rows.front().place;
  const PlanFacts facts = facts_of(place, cores, Settings{});
  const TuningTable none;
  const Choices untuned = Pricing(facts, none).choose();
  std::map<std::uint64_t, std::vector<const TuningRow*>> by_size;
  for (const TuningRow& row : rows) by_size[row.bytes].push_back(&row);
  std::vector<TunedSize> sizes;
  for (const auto& [bytes, some] : by_size) {
    const Choice& choice = untuned.at(kind, false, size_class(bytes)).choice;
    TunedSize size{kind, place, bytes, {}, choice, 0, 0};
    for (const TuningRow* row : some) {
      if (size.best_seconds == 0 || row->seconds < size.best_seconds) {
        size.best = row->choice;
        size.best_seconds = row->seconds;
      }
      // Where short slices were not measured, the schedule stands for itself.
      const bool same = row->choice == choice ||
                        (row->choice.algorithm == choice.algorithm && size.untuned_seconds == 0);
      if (same) size.untuned_seconds = row->seconds;
    }
    if (size.untuned_seconds != 0) sizes.push_back(size);
  }
  return sizes;
}

Result<void> tune_command(const TuneOptions& given) {
  TuneOptions options = given;
  GYRE_TRY_ASSIGN(const std::vector<CallKind> kinds, kinds_of(options));
  GYRE_TRY_ASSIGN(const Settings settings, parse_settings());
  if (options.programs.empty()) {
    std::error_code fault;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
    if (fault) return system_error("gyre tune: /proc/self/exe", fault.value());
    options.programs = self.parent_path().string();
  }
  for (const std::uint32_t ranks : options.ranks) {
    if (ranks < 2 || ranks > kMostRanks) {
      return wrong(fmt::format("{} ranks; it measures 2 to {} (-n)", ranks, kMostRanks));
    }
  }
  GYRE_TRY_ASSIGN(TableFile file, TableFile::open(options.output));
  const std::vector<TuningRow> rows =
      measure_all(launches_of(options, kinds, settings), options.rounds);
  if (rows.empty()) return wrong("nothing could be measured");
  show(all_tuned(rows), options);
  GYRE_TRY(file.write(rows));
  fmt::print(stderr, "# written: {} (GYRE_TUNING_FILE)\n", options.output);
  return {};
}

}  // namespace gyre::tools
