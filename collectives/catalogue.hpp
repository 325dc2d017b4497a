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
  // Pure; kinds without a root ignore it. Allocates nothing and takes about a microsecond.
  Program (*build)(std::uint32_t rank, std::uint32_t world, std::uint32_t root);
  std::uint32_t min_world = 1;
  std::uint32_t max_world = kMaxWorld;
  // What holds for every world and root. The tests compute each from the schedule and compare.
  std::uint32_t min_slots = 1;     // slots a lane needs for freedom from deadlock
  bool single_producer = true;     // see Report
  bool fixed_order = true;         // see Report; also true where nothing is reduced
  bool reference_in_place = true;  // in place, chunks may be sent by reference

  static constexpr std::uint32_t kMaxWorld = 65'535;
};

std::span<const CatalogueEntry> catalogue();

// The entry of that name, or null: find_schedule("ring", CollectiveKind::all_reduce).
const CatalogueEntry* find_schedule(std::string_view algorithm, CollectiveKind kind);

// The programs of all ranks.
std::vector<Program> programs_of(const CatalogueEntry& entry, std::uint32_t world,
                                 std::uint32_t root = 0);

// verify() of an entry. In place and by reference together are refused where the entry does.
Result<Report> verify(const CatalogueEntry& entry, std::uint32_t world, std::uint32_t root,
                      const VerifyOptions& options);

// The table of all entries as Markdown, with figures for `world` ranks (README.md holds it for 8).
std::string catalogue_markdown(std::uint32_t world);

}  // namespace gyre
