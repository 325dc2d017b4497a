#include "schedule/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/cursor.hpp"
#include "schedule/happens_before.hpp"
#include "schedule/lanes_model.hpp"
#include "schedule/memory_model.hpp"
#include "schedule/value.hpp"
#include "schedule/well_formed.hpp"

namespace gyre {
namespace {

using Lane = LanesModel::Lane;

// One strand of one rank.
struct Process {
  const Program* program = nullptr;
  Cursor cursor;
  bool queued = false;
};

Error wrong(std::string text) { return {Status::invalid_argument, std::move(text)}; }

Error wrong_step(const Process& process, std::string_view what) {
  const Cursor& at = process.cursor;
  return wrong(fmt::format("rank {}, loop {}, trip {}, step {}, tile {}: {}", process.program->rank,
                           at.loop(), at.trip(), at.step(), at.current().tile, what));
}

class Run {
 public:
  Run(std::span<const Program> programs, const Specification& specification,
      const VerifyOptions& options)
      : programs_(programs),
        specification_(specification),
        options_(options),
        world_(static_cast<std::uint32_t>(programs.size())),
        marks_(world_),
        memory_(programs, specification, marks_, options.tiles, options.in_place),
        processes_(list_processes(programs, options.tiles)),
        lanes_(world_, options.slots, process_count()),
        clocks_(process_count()),
        accesses_(memory_.cells(), clocks_) {
    add_lanes();
  }

  Result<Report> run() {
    for (std::uint32_t p = 0; p < process_count(); ++p) wake(p);
    while (!ready_.empty()) {
      const std::uint32_t process = ready_.back();
      ready_.pop_back();
      processes_[process].queued = false;
      GYRE_TRY(advance(process));
    }
    GYRE_TRY(check_all_done());
    GYRE_TRY(check_outputs());
    count_work();
    return report_;
  }

 private:
  static std::vector<Process> list_processes(std::span<const Program> programs,
                                             std::uint64_t tiles) {
    std::vector<Process> processes;
    for (const Program& program : programs) {
      for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
        processes.push_back({&program, Cursor(program, strand, tiles)});
      }
    }
    return processes;
  }
  std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes_.size()); }

  void add_lanes() {
    std::uint32_t process = 0;
    for (const Program& program : programs_) {
      for (std::uint32_t strand = 0; strand < program.strand_count; ++strand, ++process) {
        for (Cursor at(program, strand, 1); !at.done(); at.next()) {
          const ResolvedStep step = at.current();
          for (const std::uint32_t peer : peers_of(step.receive, program.rank, world_)) {
            lanes_.add_receiver(peer, program.rank, process);
          }
          for (const std::uint32_t peer : peers_of(step.send, program.rank, world_)) {
            lanes_.add_sender(program.rank, peer, process);
          }
        }
      }
    }
  }

  void wake(std::uint32_t process) {
    if (process == kNoProcess || processes_[process].queued) return;
    processes_[process].queued = true;
    ready_.push_back(process);
  }

  // Runs one process until it blocks or ends.
  Result<void> advance(std::uint32_t process) {
    Process& self = processes_[process];
    for (; !self.cursor.done(); self.cursor.next()) {
      const ResolvedStep step = self.cursor.current();
      if (!can_run(self.program->rank, step)) break;
      GYRE_TRY(execute(process, step));
    }
    return {};
  }

  // A step needs all its messages and all its credits at once. An executor that asks for less (that
  // gives a slot back before it has the next one, say) only gets further.
  bool can_run(std::uint32_t rank, const ResolvedStep& step) {
    for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
      if (LanesModel::empty(lanes_.lane(peer, rank))) return false;
    }
    for (const std::uint32_t peer : peers_of(step.send, rank, world_)) {
      if (lanes_.full(lanes_.lane(rank, peer))) return false;
    }
    return true;
  }

  Result<void> execute(std::uint32_t process, const ResolvedStep& step) {
    clocks_.tick(process);
    offers_.assign(world_, kNoCell);
    placed_ = kNoCell;
    GYRE_TRY_ASSIGN(Value value, gather(process, step));
    GYRE_TRY(check_finish(processes_[process], step, value));
    std::uint64_t cell = kNoCell;
    if (step.target != kNoChunk) {
      GYRE_TRY_ASSIGN(cell, store(process, step, value));
    } else if (step.receive.count == 0) {
      cell = source_cell(processes_[process].program->rank, step);
    }
    GYRE_TRY(place(process, step, value));
    send(process, step, {.value = value, .cell = options_.by_reference ? cell : kNoCell});
    return {};
  }

  // Writes the value into the chunks that the ranks it is sent to have offered.
  Result<void> place(std::uint32_t process, const ResolvedStep& step, const Value& value) {
    const Process& self = processes_[process];
    const std::uint32_t rank = self.program->rank;
    for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
      const bool answered = step.target != kNoChunk && step.send.covers(peer, world_);
      if (!answered) offers_[peer] = kNoCell;
      if (offers_[peer] == kNoCell) continue;
      if (!accesses_.write(offers_[peer], process)) {
        return wrong_step(self, fmt::format("it writes into the output of rank {}, which may still "
                                            "be read there",
                                            peer));
      }
      memory_.at(offers_[peer]) = value;
    }
    return {};
  }

  std::uint64_t source_cell(std::uint32_t rank, const ResolvedStep& step) const {
    return memory_.input(rank, step.tile, static_cast<std::uint32_t>(step.source));
  }

  // All operands, folded: in range order, the local one at the own rank's place or else last.
  Result<Value> gather(std::uint32_t process, const ResolvedStep& step) {
    const std::uint32_t rank = processes_[process].program->rank;
    bool local_due = step.source != kNoChunk;
    const bool in_rank_order = step.receive.covers(rank, world_);
    Value value;
    for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
      if (local_due && in_rank_order && peer > rank) {
        GYRE_TRY(add_local(process, step, value));
        local_due = false;
      }
      GYRE_TRY(add_received(process, peer, value));
    }
    if (local_due) GYRE_TRY(add_local(process, step, value));
    return value;
  }

  Result<void> add_local(std::uint32_t process, const ResolvedStep& step, Value& value) {
    const Process& self = processes_[process];
    const std::uint32_t rank = self.program->rank;
    if (!specification_.has_input(rank)) return wrong_step(self, "it reads a missing input");
    const std::uint64_t cell = source_cell(rank, step);
    if (!accesses_.read(cell, process)) return wrong_step(self, "its read races with a write");
    return add(self, memory_.at(cell), value);
  }

  Result<void> add_received(std::uint32_t process, std::uint32_t peer, Value& value) {
    const Process& self = processes_[process];
    Lane& lane = lanes_.lane(peer, self.program->rank);
    const Message message = lanes_.front(lane);
    clocks_.learn(process, lanes_.front_clock(lane));
    LanesModel::pop(lane);
    wake(lane.sender);
    offers_[peer] = message.offer;
    placed_ = message.placed;
    if (message.cell != kNoCell && !accesses_.read_reference(message.cell, process)) {
      return wrong_step(self, fmt::format("rank {} may have overwritten what it sent", peer));
    }
    return add(self, message.value, value);
  }

  Result<void> add(const Process& self, const Value& operand, Value& value) const {
    if (value.count == 0) {
      value = operand;
      return {};
    }
    const auto folded = fold(value, operand, marks_.exact());
    if (!folded) {
      return wrong_step(self, fmt::format("it folds chunk {} of tile {} ({} contributions) with "
                                          "chunk {} of tile {} ({}), which do not belong together",
                                          value.chunk, value.tile, value.count, operand.chunk,
                                          operand.tile, operand.count));
    }
    value = *folded;
    return {};
  }

  Result<void> check_finish(const Process& self, const ResolvedStep& step, Value& value) const {
    const bool completes = specification_.reduces() && !value.finished && value.count == world_;
    if (step.finish != completes) {
      return wrong_step(self, step.finish ? "it finishes a value that is not just complete"
                                          : "it completes a value without finishing it");
    }
    if (completes) {
      value.finished = true;
      value.producer = self.program->rank;
    }
    return {};
  }

  Result<std::uint64_t> store(std::uint32_t process, const ResolvedStep& step, const Value& value) {
    const Process& self = processes_[process];
    const std::uint32_t rank = self.program->rank;
    const auto chunk = static_cast<std::uint32_t>(step.target);
    if (!specification_.has_output(rank)) return wrong_step(self, "it stores in a missing output");
    const std::uint64_t cell = memory_.output(rank, step.tile, chunk);
    if (placed_ != kNoCell) {
      if (placed_ == cell && step.receive.count == 1 && step.source == kNoChunk) return cell;
      return wrong_step(self, "it was to store a value that was placed elsewhere");
    }
    // In place, a rank's own contribution may lie where it belongs already.
    const bool onto_itself = step.receive.count == 0 && source_cell(rank, step) == cell;
    if (!onto_itself && !accesses_.write(cell, process)) {
      return wrong_step(
          self, fmt::format("it overwrites output chunk {}, which may still be read", chunk));
    }
    memory_.at(cell) = value;
    return cell;
  }

  void send(std::uint32_t process, const ResolvedStep& step, const Message& message) {
    const std::uint32_t rank = processes_[process].program->rank;
    for (const std::uint32_t peer : peers_of(step.send, rank, world_)) {
      Lane& lane = lanes_.lane(rank, peer);
      Message one = message;
      one.placed = offers_[peer];
      if (one.placed != kNoCell) one.cell = kNoCell;
      if (one.cell != kNoCell) accesses_.refer(one.cell);
      if (one.cell != kNoCell && options_.placing && step.offer != kNoChunk) {
        one.offer = memory_.output(rank, step.tile, static_cast<std::uint32_t>(step.offer));
      }
      lanes_.push(lane, one, clocks_.of(process));
      wake(lane.receiver);
    }
  }

  Result<void> check_all_done() {
    std::string stuck;
    for (const Process& process : processes_) {
      if (process.cursor.done()) continue;
      const ResolvedStep step = process.cursor.current();
      const std::uint32_t rank = process.program->rank;
      for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
        if (!LanesModel::empty(lanes_.lane(peer, rank))) continue;
        stuck += fmt::format("; rank {} (tile {}) waits for data of {}", rank, step.tile, peer);
      }
      for (const std::uint32_t peer : peers_of(step.send, rank, world_)) {
        if (!lanes_.full(lanes_.lane(rank, peer))) continue;
        stuck += fmt::format("; rank {} (tile {}) waits for a slot to {}", rank, step.tile, peer);
      }
      constexpr std::size_t kEnough = 500;
      if (stuck.size() > kEnough) break;
    }
    if (!stuck.empty()) {
      return wrong(fmt::format("deadlock with {} tiles and {} slots{}", options_.tiles,
                               options_.slots, stuck));
    }
    for (const Lane& lane : lanes_.lanes()) {
      if (LanesModel::empty(lane)) continue;
      return wrong(fmt::format("rank {} does not take {} messages of rank {}", lane.to,
                               lane.tail - lane.head, lane.from));
    }
    return {};
  }

  Result<void> check_outputs() {
    constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    std::vector<std::uint32_t> producers(options_.tiles * memory_.inputs(), kNobody);
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      if (!specification_.has_output(rank)) continue;
      for (std::uint64_t tile = 0; tile < options_.tiles; ++tile) {
        for (std::uint32_t chunk = 0; chunk < memory_.outputs(); ++chunk) {
          const Wanted wanted = specification_.output(rank, chunk);
          const Value& value = memory_.at(memory_.output(rank, tile, chunk));
          GYRE_TRY(check_output(value, wanted, rank, chunk, tile));
          if (!wanted.everyone) continue;
          report_.fixed_order = report_.fixed_order && value.ordered && value.first == 0;
          std::uint32_t& producer = producers[tile * memory_.inputs() + wanted.chunk];
          if (producer == kNobody) producer = value.producer;
          report_.single_producer = report_.single_producer && producer == value.producer;
        }
      }
    }
    return {};
  }

  Result<void> check_output(const Value& value, const Wanted& wanted, std::uint32_t rank,
                            std::uint32_t chunk, std::uint64_t tile) const {
    const std::uint64_t ranks = wanted.everyone ? marks_.all() : marks_.of(wanted.rank);
    const std::uint32_t count = wanted.everyone ? world_ : 1;
    if (value.ranks == ranks && value.count == count && value.chunk == wanted.chunk &&
        value.tile == tile && value.finished == specification_.reduces()) {
      return {};
    }
    return wrong(
        fmt::format("output chunk {} of tile {} on rank {} holds {} contributions to "
                    "chunk {} of tile {}, not those to chunk {}",
                    chunk, tile, rank, value.count, value.chunk, value.tile, wanted.chunk));
  }

  void count_work() {
    for (const Program& program : programs_) {
      std::uint32_t steps = 0, sends = 0;
      for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
        for (Cursor at(program, strand, 1); !at.done(); at.next()) {
          ++steps;
          sends += peers_of(at.current().send, program.rank, world_).size();
        }
      }
      report_.steps = std::max(report_.steps, steps);
      report_.sends = std::max(report_.sends, sends);
    }
  }

  std::span<const Program> programs_;
  const Specification& specification_;
  VerifyOptions options_;
  std::uint32_t world_;
  RankMarks marks_;
  MemoryModel memory_;
  std::vector<Process> processes_;
  LanesModel lanes_;
  Clocks clocks_;
  AccessLog accesses_;
  std::vector<std::uint32_t> ready_;
  // Of the step that runs: what each peer offered, and where its operand was placed.
  std::vector<std::uint64_t> offers_;
  std::uint64_t placed_ = kNoCell;
  Report report_;
};

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
  return Run(programs, specification, options).run();
}

Result<std::uint32_t> find_min_slots(std::span<const Program> programs,
                                     const Specification& specification, std::uint32_t limit) {
  Error last{Status::invalid_argument, "no slots to try"};
  for (std::uint32_t slots = 1; slots <= limit; ++slots) {
    bool safe = true;
    for (const std::uint64_t tiles :
         {std::uint64_t{1}, slots + std::uint64_t{1}, 3 * std::uint64_t{slots} + 5}) {
      auto report = verify(programs, specification, {.tiles = tiles, .slots = slots});
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
