// Small changes to schedules, most of which break them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedule/step.hpp"

namespace gyre::test {

// A program taken apart, so that steps and loops can be moved.
struct LoopDraft {
  std::uint32_t trips = 1;
  std::uint16_t lag = 0;
  Rounds rounds;
  std::vector<Step> steps;
};
struct ProgramDraft {
  Program frame;  // rank, world, chunks
  std::vector<LoopDraft> loops;
  std::size_t second_strand = 0;  // its first loop; 0: there is one strand
};

ProgramDraft take_apart(const Program& program);
Program put_together(const ProgramDraft& draft);

struct Mutation {
  std::string name;
  // False where the program has no such place.
  std::function<bool(ProgramDraft&)> apply;
};

// Every mutation of programs with up to `loops` loops of up to `steps` steps.
std::vector<Mutation> mutations(std::size_t loops, std::size_t steps);

}  // namespace gyre::test
