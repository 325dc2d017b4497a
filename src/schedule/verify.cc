#include "schedule/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/cursor.hpp"
#include "schedule/symbolic_run.hpp"
#include "schedule/well_formed.hpp"

namespace gyre {
namespace {

Error wrong(std::string text) { return {Status::invalid_argument, std::move(text)}; }

// What the outputs hold after a run, and what that says of the schedule.
class Outcome {
 public:
  Outcome(SymbolicRun& run, const Specification& specification, std::uint64_t tiles)
      : run_(run),
        specification_(specification),
        tiles_(tiles),
        producers_(tiles * run.memory().inputs(), kNobody) {}

  Result<void> check(Report& report) {
    for (std::uint32_t rank = 0; rank < specification_.world(); ++rank) {
      if (!specification_.has_output(rank)) continue;
      for (std::uint64_t tile = 0; tile < tiles_; ++tile) {
        for (std::uint32_t chunk = 0; chunk < run_.memory().outputs(); ++chunk) {
          GYRE_TRY(check_chunk(rank, tile, chunk, report));
        }
      }
    }
    return {};
  }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  Result<void> check_chunk(std::uint32_t rank, std::uint64_t tile, std::uint32_t chunk,
                           Report& report) {
    const Wanted wanted = specification_.output(rank, chunk);
    const Value& value = run_.memory().at(run_.memory().output(rank, tile, chunk));
    if (!is_wanted(value, wanted, tile)) {
      return wrong(
          fmt::format("output chunk {} of tile {} on rank {} holds {} contributions to "
                      "chunk {} of tile {}, not those to chunk {}",
                      chunk, tile, rank, value.count, value.chunk, value.tile, wanted.chunk));
    }
    if (!wanted.everyone) return {};
    report.fixed_order = report.fixed_order && value.ordered && value.first == 0;
    std::uint32_t& producer = producers_[tile * run_.memory().inputs() + wanted.chunk];
    if (producer == kNobody) producer = value.producer;
    report.single_producer = report.single_producer && producer == value.producer;
    return {};
  }

  bool is_wanted(const Value& value, const Wanted& wanted, std::uint64_t tile) const {
    const RankMarks& marks = run_.marks();
    return value.ranks == (wanted.everyone ? marks.all() : marks.of(wanted.rank)) &&
           value.count == (wanted.everyone ? specification_.world() : 1) &&
           value.chunk == wanted.chunk && value.tile == tile &&
           value.finished == specification_.reduces();
  }

  SymbolicRun& run_;
  const Specification& specification_;
  std::uint64_t tiles_;
  std::vector<std::uint32_t> producers_;
};

void count_work(std::span<const Program> programs, Report& report) {
  const auto world = static_cast<std::uint32_t>(programs.size());
  for (const Program& program : programs) {
    std::uint32_t steps = 0, sends = 0, messages = 0;
    for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
      for (Cursor at(program, strand, 1); !at.done(); at.next()) {
        const ResolvedStep step = at.current();
        const std::uint32_t receivers = peers_of(step.send, program.rank, world).size();
        ++steps;
        messages += receivers;
        sends += receivers * step.chunks;
        report.run = std::max(report.run, step.chunks);
      }
    }
    report.steps = std::max(report.steps, steps);
    report.sends = std::max(report.sends, sends);
    report.messages = std::max(report.messages, messages);
  }
}

Result<void> check_programs(std::span<const Program> programs, const Specification& specification,
                            const VerifyOptions& options) {
  if (programs.empty() || programs.size() != specification.world()) {
    return wrong(
        fmt::format("{} programs for a world of {}", programs.size(), specification.world()));
  }
  if (options.slots == 0 || options.tiles == 0) return wrong("no slots or no tiles to verify with");
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    GYRE_TRY(check_well_formed(program));
    if (program.rank != rank || program.world != programs.size()) {
      return wrong(fmt::format("program {} says that it is of rank {} of {}", rank, program.rank,
                               program.world));
    }
    if (program.input_chunks != programs[0].input_chunks ||
        program.output_chunks != programs[0].output_chunks) {
      return wrong(fmt::format("ranks 0 and {} cut their buffers differently", rank));
    }
    GYRE_TRY(specification.check_shape(program));
  }
  return {};
}

}  // namespace

Result<Report> verify(std::span<const Program> programs, const Specification& specification,
                      const VerifyOptions& options) {
  GYRE_TRY(check_programs(programs, specification, options));
  SymbolicRun run(programs, specification, options);
  GYRE_TRY(run.run());
  Report report;
  if (!specification.synchronises()) {
    GYRE_TRY(Outcome(run, specification, options.tiles).check(report));
  } else if (!run.synchronised()) {
    return wrong("a rank may end before another one has begun");
  }
  count_work(programs, report);
  return report;
}

std::uint64_t many_tiles(std::span<const Program> programs, std::uint32_t slots) {
  std::uint64_t largest_lag = 0;
  for (const Program& program : programs) {
    for (std::uint32_t l = 0; l < program.loop_count; ++l) {
      largest_lag = std::max<std::uint64_t>(largest_lag, program.loops[l].lag);
    }
  }
  return largest_lag + 3 * std::uint64_t{slots} + 5;
}

Result<std::uint32_t> find_min_slots(std::span<const Program> programs,
                                     const Specification& specification, bool by_reference,
                                     std::uint32_t limit) {
  Error last{Status::invalid_argument, "no slots to try"};
  for (std::uint32_t slots = 1; slots <= limit; ++slots) {
    bool safe = true;
    for (const std::uint64_t tiles :
         {std::uint64_t{1}, slots + std::uint64_t{1}, many_tiles(programs, slots)}) {
      auto report = verify(programs, specification,
                           {.tiles = tiles, .slots = slots, .by_reference = by_reference});
      if (report) continue;
      safe = false;
      last = report.error();
      break;
    }
    if (safe) return slots;
  }
  return last;
}

}  // namespace gyre
