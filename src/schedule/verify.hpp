// Proves a schedule right for one world, root and number of tiles, by one symbolic run of all ranks
// over bounded lanes. README.md says why one run decides.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "schedule/specification.hpp"
#include "schedule/step.hpp"

namespace gyre {

struct VerifyOptions {
  std::uint64_t tiles = 1;
  std::uint32_t slots = 2;
  // The input and the output share memory by the collective's in-place rule.
  bool in_place = false;
  // Senders may publish where one chunk of a buffer lies (the source of a plain send, the target
  // just stored) instead of a copy; the receiver reads it there when it takes the slot.
  bool by_reference = true;
  // With by_reference: receivers make use of offers.
  bool placing = true;
};

struct Report {
  std::uint32_t steps = 0;      // of one tile, on the busiest rank
  std::uint32_t sends = 0;      // chunks that the busiest rank sends for one tile
  std::uint32_t messages = 0;   // in so many messages
  std::uint32_t run = 1;        // the most chunks of a message
  bool single_producer = true;  // every final chunk is computed on one rank, and copied from there
  bool fixed_order = true;      // every reduction is a left fold in rank order 0..n-1
};

// `programs[r]` is the program of rank r. Errors (invalid_argument) name the rank and the step:
// malformed programs, wrong, double, missing or misplaced contributions, `finish` anywhere but on
// the steps that complete a reduction, deadlock, messages nobody takes, and unordered accesses to
// the same memory. Time and memory: steps x tiles x world. Thread-safe.
Result<Report> verify(std::span<const Program> programs, const Specification& specification,
                      const VerifyOptions& options);

// Tiles enough for every lane to have been full, and for every loop to have met every other one,
// whatever their lags, in what is repeated from then on.
std::uint64_t many_tiles(std::span<const Program> programs, std::uint32_t slots);

// The smallest number of slots per lane with which the schedule is free of deadlock, tried with few
// tiles and with several times more tiles than slots; an error if `limit` slots are not enough.
Result<std::uint32_t> find_min_slots(std::span<const Program> programs,
                                     const Specification& specification, bool by_reference = true,
                                     std::uint32_t limit = 8);

}  // namespace gyre
