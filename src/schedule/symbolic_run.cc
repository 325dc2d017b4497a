#include "schedule/symbolic_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace gyre {
namespace {

Error wrong(std::string text) { return {Status::invalid_argument, std::move(text)}; }

Error wrong_step(const Program& program, const Cursor& at, std::string_view what) {
  return wrong(fmt::format("rank {}, loop {}, trip {}, step {}, tile {}: {}", program.rank,
                           at.loop(), at.trip(), at.step(), at.current().tile, what));
}

}  // namespace

SymbolicRun::SymbolicRun(std::span<const Program> programs, const Specification& specification,
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

Result<void> SymbolicRun::run() {
  for (std::uint32_t p = 0; p < process_count(); ++p) wake(p);
  while (!ready_.empty()) {
    const std::uint32_t process = ready_.back();
    ready_.pop_back();
    processes_[process].queued = false;
    GYRE_TRY(advance(process));
  }
  return check_all_done();
}

bool SymbolicRun::synchronised() const {
  for (std::uint32_t end = 0; end < process_count(); ++end) {
    for (std::uint32_t begin = 0; begin < process_count(); ++begin) {
      if (!clocks_.ordered(end, begin, processes_[begin].began)) return false;
    }
  }
  return true;
}

std::vector<SymbolicRun::Process> SymbolicRun::list_processes(std::span<const Program> programs,
                                                              std::uint64_t tiles) {
  std::vector<Process> processes;
  for (const Program& program : programs) {
    for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
      processes.push_back({&program, strand, Cursor(program, strand, tiles)});
    }
  }
  return processes;
}

void SymbolicRun::add_lanes() {
  for (std::uint32_t process = 0; process < process_count(); ++process) add_lanes_of(process);
}

void SymbolicRun::add_lanes_of(std::uint32_t process) {
  const Program& program = *processes_[process].program;
  const std::uint32_t strand = processes_[process].strand;
  for (Cursor at(program, strand, 1); !at.done(); at.next()) {
    const ResolvedStep step = at.current();
    for (const std::uint32_t peer : peers_of(step.receive, program.rank, world_)) {
      lanes_.add_receiver(peer, program.rank, process);
    }
    for (const std::uint32_t peer : peers_of(step.send, program.rank, world_)) {
      lanes_.add_sender(program.rank, peer, process);
    }
  }
  if (program.strand_count == 2) {
    lanes_.add_local(program.rank, strand, process, strand == 0 ? process + 1 : process - 1);
  }
}

void SymbolicRun::wake(std::uint32_t process) {
  if (process == kNoProcess || processes_[process].queued) return;
  processes_[process].queued = true;
  ready_.push_back(process);
}

// Runs one process until it blocks or ends.
Result<void> SymbolicRun::advance(std::uint32_t process) {
  Process& self = processes_[process];
  for (; !self.cursor.done(); self.cursor.next()) {
    const ResolvedStep step = self.cursor.current();
    if (!can_run(self, step)) break;
    GYRE_TRY(execute(process, step));
  }
  return {};
}

// A step needs all its messages and all its credits at once. An executor that asks for less (that
// gives a slot back before it has the next one, say) only gets further.
bool SymbolicRun::can_run(const Process& self, const ResolvedStep& step) {
  const std::uint32_t rank = self.program->rank;
  if (step.token == Token::take && LanesModel::empty(lanes_.local(rank, 1 - self.strand))) {
    return false;
  }
  if (step.token == Token::give && lanes_.full(lanes_.local(rank, self.strand))) return false;
  for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
    if (LanesModel::empty(lanes_.lane(peer, rank))) return false;
  }
  for (const std::uint32_t peer : peers_of(step.send, rank, world_)) {
    if (lanes_.full(lanes_.lane(rank, peer))) return false;
  }
  return true;
}

Result<void> SymbolicRun::execute(std::uint32_t process, const ResolvedStep& step) {
  Process& self = processes_[process];
  clocks_.tick(process);
  if (self.began == 0 && step.tile + 1 == options_.tiles) self.began = clocks_.now(process);
  offers_.assign(world_, kNoCell);
  placed_ = kNoCell;
  if (step.token == Token::take) take_token(process);
  GYRE_TRY(gather(process, step));
  GYRE_TRY(check_placed(self, step));
  GYRE_TRY(check_finish(self, step));
  if (step.target != kNoChunk) GYRE_TRY(store(process, step));
  GYRE_TRY(place(process, step));
  GYRE_TRY(send(process, step));
  if (step.token == Token::give) give_token(process);
  return {};
}

void SymbolicRun::take_token(std::uint32_t process) {
  const Process& self = processes_[process];
  Lane& lane = lanes_.local(self.program->rank, 1 - self.strand);
  clocks_.learn(process, lanes_.front_clock(lane));
  LanesModel::pop(lane);
  wake(lane.sender);
}

void SymbolicRun::give_token(std::uint32_t process) {
  const Process& self = processes_[process];
  Lane& lane = lanes_.local(self.program->rank, self.strand);
  lanes_.push(lane, {}, clocks_.of(process));
  wake(lane.receiver);
}

// Writes the value into the chunks that the ranks it is sent to have offered.
Result<void> SymbolicRun::place(std::uint32_t process, const ResolvedStep& step) {
  const Process& self = processes_[process];
  const std::uint32_t rank = self.program->rank;
  for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
    const bool answered = step.target != kNoChunk && step.send.covers(peer, world_);
    if (!answered) offers_[peer] = kNoCell;
    if (offers_[peer] == kNoCell) continue;
    if (!accesses_.write(offers_[peer], process)) {
      return wrong_step(*self.program, self.cursor,
                        fmt::format("it writes into the output of rank {}, which may still "
                                    "be read there",
                                    peer));
    }
    memory_.at(offers_[peer]) = values_[0];
  }
  return {};
}

// A placed value did not come along: it can be stored where it lies, and be sent on from there.
Result<void> SymbolicRun::check_placed(const Process& self, const ResolvedStep& step) const {
  if (placed_ == kNoCell) return {};
  const bool only_stores = step.target != kNoChunk && step.source == kNoChunk &&
                           step.receive.count == 1 && step.chunks == 1;
  if (only_stores && placed_ == target_cell(self.program->rank, step, 0)) return {};
  return wrong_step(*self.program, self.cursor,
                    "it takes a value that was placed in its output, and does not only store it "
                    "there");
}

std::uint64_t SymbolicRun::source_cell(std::uint32_t rank, const ResolvedStep& step,
                                       std::uint32_t i) const {
  const std::uint32_t chunks = chunks_of(programs_[rank], step.source_side);
  return memory_.cell(rank, step.source_side, step.tile,
                      chunk_at(step.source, step.source_stride, i, chunks));
}

std::uint64_t SymbolicRun::target_cell(std::uint32_t rank, const ResolvedStep& step,
                                       std::uint32_t i) const {
  const std::uint32_t chunks = chunks_of(programs_[rank], step.target_side);
  return memory_.cell(rank, step.target_side, step.tile,
                      chunk_at(step.target, step.target_stride, i, chunks));
}

// All operands, folded: in range order, the local one at the own rank's place or else last.
Result<void> SymbolicRun::gather(std::uint32_t process, const ResolvedStep& step) {
  const std::uint32_t rank = processes_[process].program->rank;
  bool local_due = step.source != kNoChunk;
  const bool in_rank_order = step.receive.covers(rank, world_);
  values_.assign(step.chunks, Value{});
  for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
    if (local_due && in_rank_order && peer > rank) {
      GYRE_TRY(add_local(process, step));
      local_due = false;
    }
    GYRE_TRY(add_received(process, step, peer));
  }
  if (local_due) GYRE_TRY(add_local(process, step));
  return {};
}

Result<void> SymbolicRun::add_local(std::uint32_t process, const ResolvedStep& step) {
  const Process& self = processes_[process];
  const std::uint32_t rank = self.program->rank;
  const auto refuse = [&](std::string_view what) {
    return wrong_step(*self.program, self.cursor, what);
  };
  if (step.source_side == Side::input && !specification_.has_input(rank)) {
    return refuse("it reads a missing input");
  }
  if (step.source_side == Side::output && !specification_.has_output(rank)) {
    return refuse("it reads a missing output");
  }
  for (std::uint32_t i = 0; i < step.chunks; ++i) {
    const std::uint64_t cell = source_cell(rank, step, i);
    if (!accesses_.read(cell, process)) return refuse("its read races with a write");
    if (memory_.at(cell).count == 0) return refuse("it reads a chunk that holds nothing yet");
    GYRE_TRY(add(self, memory_.at(cell), values_[i]));
  }
  return {};
}

Result<void> SymbolicRun::add_received(std::uint32_t process, const ResolvedStep& step,
                                       std::uint32_t peer) {
  const Process& self = processes_[process];
  Lane& lane = lanes_.lane(peer, self.program->rank);
  const Message& message = lanes_.front(lane);
  clocks_.learn(process, lanes_.front_clock(lane));
  LanesModel::pop(lane);
  wake(lane.sender);
  offers_[peer] = message.offer;
  if (message.placed != kNoCell) placed_ = message.placed;
  bool ordered = true;
  for (const std::uint64_t cell : {message.cell, message.copied}) {
    if (cell != kNoCell) ordered = accesses_.read_reference(cell, process) && ordered;
  }
  if (!ordered) {
    return wrong_step(*self.program, self.cursor,
                      fmt::format("rank {} may have overwritten what it sent", peer));
  }
  if (message.values.size() != step.chunks) {
    return wrong_step(*self.program, self.cursor,
                      fmt::format("it takes {} chunks, but rank {} sent {}", step.chunks, peer,
                                  message.values.size()));
  }
  for (std::uint32_t i = 0; i < step.chunks; ++i) {
    GYRE_TRY(add(self, message.values[i], values_[i]));
  }
  return {};
}

Result<void> SymbolicRun::add(const Process& self, const Value& operand, Value& value) const {
  // A barrier's messages mean nothing but that they came.
  if (value.count == 0 || specification_.synchronises()) {
    value = operand;
    return {};
  }
  const auto folded = fold(value, operand, marks_.exact());
  if (!folded) {
    return wrong_step(*self.program, self.cursor,
                      fmt::format("it folds chunk {} of tile {} ({} contributions) with "
                                  "chunk {} of tile {} ({}), which do not belong together",
                                  value.chunk, value.tile, value.count, operand.chunk, operand.tile,
                                  operand.count));
  }
  value = *folded;
  return {};
}

Result<void> SymbolicRun::check_finish(const Process& self, const ResolvedStep& step) {
  for (Value& value : values_) {
    const bool completes = specification_.reduces() && !value.finished && value.count == world_;
    if (step.finish != completes) {
      return wrong_step(*self.program, self.cursor,
                        step.finish ? "it finishes a value that is not just complete"
                                    : "it completes a value without finishing it");
    }
    if (completes) {
      value.finished = true;
      value.producer = self.program->rank;
    }
  }
  return {};
}

Result<void> SymbolicRun::store(std::uint32_t process, const ResolvedStep& step) {
  const Process& self = processes_[process];
  const std::uint32_t rank = self.program->rank;
  if (step.target_side == Side::output && !specification_.has_output(rank)) {
    return wrong_step(*self.program, self.cursor, "it stores in a missing output");
  }
  if (placed_ != kNoCell) return {};
  for (std::uint32_t i = 0; i < step.chunks; ++i) GYRE_TRY(store_chunk(process, step, i));
  return {};
}

Result<void> SymbolicRun::store_chunk(std::uint32_t process, const ResolvedStep& step,
                                      std::uint32_t i) {
  const Process& self = processes_[process];
  const std::uint64_t cell = target_cell(self.program->rank, step, i);
  // In place, a rank's own contribution may lie where it belongs already.
  const bool onto_itself = step.receive.count == 0 && step.source != kNoChunk &&
                           source_cell(self.program->rank, step, i) == cell;
  if (!onto_itself && !accesses_.write(cell, process)) {
    const std::uint32_t chunks = chunks_of(*self.program, step.target_side);
    return wrong_step(*self.program, self.cursor,
                      fmt::format("it overwrites {} chunk {}, which may still be read",
                                  step.target_side == Side::output ? "output" : "scratch",
                                  chunk_at(step.target, step.target_stride, i, chunks)));
  }
  memory_.at(cell) = values_[i];
  return {};
}

// Where one value lies unchanged until the end of the call: what can be sent by reference.
std::uint64_t SymbolicRun::lasting_cell(std::uint32_t rank, const ResolvedStep& step) const {
  if (!options_.by_reference || step.chunks != 1) return kNoCell;
  if (step.target != kNoChunk) {
    return step.target_side == Side::output ? target_cell(rank, step, 0) : kNoCell;
  }
  const bool sole = peers_of(step.receive, rank, world_).size() == 0;
  return sole && step.source_side != Side::scratch ? source_cell(rank, step, 0) : kNoCell;
}

// Where a value that is only copied lies as well: kernels refer to it there.
std::uint64_t SymbolicRun::copied_cell(std::uint32_t rank, const ResolvedStep& step) const {
  if (!options_.by_reference || step.chunks != 1 || step.source == kNoChunk) return kNoCell;
  const bool sole = peers_of(step.receive, rank, world_).size() == 0;
  return sole && step.source_side != Side::scratch ? source_cell(rank, step, 0) : kNoCell;
}

Result<void> SymbolicRun::send(std::uint32_t process, const ResolvedStep& step) {
  const Process& self = processes_[process];
  const std::uint32_t rank = self.program->rank;
  if (step.offer != kNoChunk && !specification_.has_output(rank)) {
    return wrong_step(*self.program, self.cursor, "it offers a chunk of a missing output");
  }
  const std::uint64_t cell = lasting_cell(rank, step);
  const std::uint64_t copied = copied_cell(rank, step);
  for (const std::uint32_t peer : peers_of(step.send, rank, world_)) {
    Lane& lane = lanes_.lane(rank, peer);
    Message& one = lanes_.push(lane, values_, clocks_.of(process));
    one.placed = offers_[peer];
    if (one.placed == kNoCell) one.cell = cell;
    if (one.cell != kNoCell) accesses_.refer(one.cell);
    if (copied != one.cell) one.copied = copied;
    if (one.copied != kNoCell) accesses_.refer(one.copied);
    if (one.cell != kNoCell && options_.placing && step.offer != kNoChunk) {
      one.offer = memory_.output(rank, step.tile, static_cast<std::uint32_t>(step.offer));
    }
    wake(lane.receiver);
  }
  return {};
}

std::string SymbolicRun::waits_of(const Process& process) {
  const ResolvedStep step = process.cursor.current();
  const std::uint32_t rank = process.program->rank;
  std::string waits;
  const auto add = [&](std::string_view what, std::uint32_t peer) {
    waits += fmt::format("; rank {} (tile {}) waits for {} {}", rank, step.tile, what, peer);
  };
  for (const std::uint32_t peer : peers_of(step.receive, rank, world_)) {
    if (LanesModel::empty(lanes_.lane(peer, rank))) add("data of", peer);
  }
  for (const std::uint32_t peer : peers_of(step.send, rank, world_)) {
    if (lanes_.full(lanes_.lane(rank, peer))) add("a slot to", peer);
  }
  if (waits.empty()) add("its strand", 1 - process.strand);
  return waits;
}

Result<void> SymbolicRun::check_all_done() {
  std::string stuck;
  for (const Process& process : processes_) {
    if (process.cursor.done()) continue;
    stuck += waits_of(process);
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

}  // namespace gyre
