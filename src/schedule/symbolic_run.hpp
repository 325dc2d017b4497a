// One symbolic run of all ranks over bounded lanes: who holds whose contributions, and which
// accesses to memory are ordered. README.md says why one run decides.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "schedule/cursor.hpp"
#include "schedule/happens_before.hpp"
#include "schedule/lanes_model.hpp"
#include "schedule/memory_model.hpp"
#include "schedule/specification.hpp"
#include "schedule/value.hpp"
#include "schedule/verify.hpp"

namespace gyre {

class SymbolicRun {
 public:
  // Well-formed programs of one shape, one per rank; all outlive the run.
  SymbolicRun(std::span<const Program> programs, const Specification& specification,
              const VerifyOptions& options);

  // To the end of every strand, or an error that names the rank and the step.
  Result<void> run();

  const RankMarks& marks() const { return marks_; }
  MemoryModel& memory() { return memory_; }
  // Every strand ended after every other one began the last tile.
  bool synchronised() const;

 private:
  using Lane = LanesModel::Lane;

  // One strand of one rank.
  struct Process {
    const Program* program = nullptr;
    std::uint32_t strand = 0;
    Cursor cursor;
    bool queued = false;
    std::uint32_t began = 0;  // its clock at the first step of the last tile
  };

  static std::vector<Process> list_processes(std::span<const Program> programs,
                                             std::uint64_t tiles);
  std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes_.size()); }
  void add_lanes();
  void add_lanes_of(std::uint32_t process);
  void wake(std::uint32_t process);

  Result<void> advance(std::uint32_t process);
  bool can_run(const Process& self, const ResolvedStep& step);
  Result<void> execute(std::uint32_t process, const ResolvedStep& step);
  void take_token(std::uint32_t process);
  void give_token(std::uint32_t process);
  Result<void> place(std::uint32_t process, const ResolvedStep& step);
  Result<void> check_placed(const Process& self, const ResolvedStep& step) const;
  Result<void> gather(std::uint32_t process, const ResolvedStep& step);
  Result<void> add_local(std::uint32_t process, const ResolvedStep& step);
  Result<void> add_received(std::uint32_t process, const ResolvedStep& step, std::uint32_t peer);
  Result<void> add(const Process& self, const Value& operand, Value& value) const;
  Result<void> check_finish(const Process& self, const ResolvedStep& step);
  Result<void> store(std::uint32_t process, const ResolvedStep& step);
  Result<void> store_chunk(std::uint32_t process, const ResolvedStep& step, std::uint32_t i);
  Result<void> send(std::uint32_t process, const ResolvedStep& step);
  Result<void> check_all_done();
  std::string waits_of(const Process& process);

  std::uint64_t source_cell(std::uint32_t rank, const ResolvedStep& step, std::uint32_t i) const;
  std::uint64_t target_cell(std::uint32_t rank, const ResolvedStep& step, std::uint32_t i) const;
  std::uint64_t lasting_cell(std::uint32_t rank, const ResolvedStep& step) const;
  std::uint64_t copied_cell(std::uint32_t rank, const ResolvedStep& step) const;

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
  // Of the step that runs: its value, what each peer offered, and where an operand was placed.
  std::vector<Value> values_;
  std::vector<std::uint64_t> offers_;
  std::uint64_t placed_ = kNoCell;
};

}  // namespace gyre
