// Every schedule there is, in one table, with the facts others rely on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "collectives/spec.hpp"
#include "schedule/step.hpp"
#include "schedule/verify.hpp"

namespace gyre {

struct CatalogueEntry {
  std::string_view algorithm;
  CollectiveKind kind;
  // Pure; kinds without a root and schedules without hosts ignore those. Allocates nothing and
  // takes about a microsecond.
  Program (*build)(std::uint32_t rank, std::uint32_t world, std::uint32_t root,
                   std::uint32_t ranks_per_host);
  std::uint32_t max_world = kMaxWorld;  // every world from one rank up to this
  // What holds for every world and root. The tests compute each from the schedule and compare.
  std::uint32_t min_slots = 1;  // slots a lane needs for freedom from deadlock
  bool single_producer = true;  // see Report
  bool fixed_order = true;      // see Report; also true where nothing is reduced
  bool by_reference = true;     // chunks may be sent by reference, in place as well
  bool hosts = false;           // a schedule for hosts with the same number of ranks each
  // The most chunks of one message, which must fit in a slot together.
  std::uint32_t (*run)(std::uint32_t world, std::uint32_t ranks_per_host) = nullptr;

  std::uint32_t longest_run(std::uint32_t world, std::uint32_t ranks_per_host) const {
    return run == nullptr ? 1 : run(world, ranks_per_host);
  }

  static constexpr std::uint32_t kMaxWorld = 65'534;
};

std::span<const CatalogueEntry> catalogue();

// The entry of that name, or null: find_schedule("ring", CollectiveKind::all_reduce).
const CatalogueEntry* find_schedule(std::string_view algorithm, CollectiveKind kind);

// The programs of all ranks.
std::vector<Program> programs_of(const CatalogueEntry& entry, std::uint32_t world,
                                 std::uint32_t root = 0, std::uint32_t ranks_per_host = 1);

// verify() of an entry. In place and by reference are refused where the entry does.
Result<Report> verify(const CatalogueEntry& entry, std::uint32_t world, std::uint32_t root,
                      const VerifyOptions& options, std::uint32_t ranks_per_host = 1);

// The table of all entries as Markdown, with figures for `world` ranks (README.md holds it for 8).
std::string catalogue_markdown(std::uint32_t world);

}  // namespace gyre
