// Is the verifier strict enough? Schedules are changed in every small way there is. Each mutant is
// judged twice: by the verifier, and by rehearsals on real numbers in many random orders. A mutant
// that fails any rehearsal must have been rejected; one whose steps are the same as before must
// not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/catalogue.hpp"
#include "mutants.hpp"
#include "rehearsal.hpp"
#include "schedule/cursor.hpp"
#include "schedule/well_formed.hpp"

namespace gyre::test {
namespace {

constexpr std::uint64_t kSeed = 20'261;

struct Case {
  const CatalogueEntry* entry;
  Collective collective;
  std::uint32_t ranks_per_host = 1;

  // Of the schedule as it is: the lags of its mutants are little larger.
  std::uint64_t many_tiles() const { return gyre::many_tiles(programs(), entry->min_slots); }
  std::vector<bool> placements() const {
    return has_in_place(entry->kind) ? std::vector<bool>{false, true} : std::vector<bool>{false};
  }
  bool by_reference() const { return entry->by_reference; }
  std::vector<Program> programs() const {
    return programs_of(*entry, collective.ranks, collective.root, ranks_per_host);
  }
};

// Whether offers are made use of: nothing to choose where there are none.
template <typename Choice>
std::vector<Choice> with_offers(const std::vector<Program>& programs, std::vector<Choice> choices) {
  const auto makes_offers = [](const Program& program) {
    return std::any_of(program.steps, program.steps + program.step_count,
                       [](const Step& step) { return step.offer.exists(); });
  };
  if (!std::any_of(programs.begin(), programs.end(), makes_offers)) choices.resize(1);
  return choices;
}

bool verifies(const Case& at, const std::vector<Program>& programs) {
  for (const bool in_place : at.placements()) {
    for (const std::uint64_t tiles : {std::uint64_t{1}, std::uint64_t{2}, at.many_tiles()}) {
      for (const bool placing : with_offers<bool>(programs, {true, false})) {
        const VerifyOptions options{.tiles = tiles,
                                    .slots = at.entry->min_slots,
                                    .in_place = in_place,
                                    .by_reference = at.by_reference(),
                                    .placing = placing};
        if (!verify(programs, CollectiveSpecification(at.collective), options)) return false;
      }
    }
  }
  return true;
}

// All ways to rehearse programs, under a seed each.
std::vector<RehearsalOptions> rehearsals_of(const Case& at, const std::vector<Program>& programs) {
  using enum Placing;
  std::vector<RehearsalOptions> all;
  for (const std::uint64_t tiles : {at.many_tiles(), std::uint64_t{1}, std::uint64_t{2}}) {
    for (const bool in_place : at.placements()) {
      for (const std::uint32_t slots : {at.entry->min_slots, at.entry->min_slots + 3}) {
        for (const bool whole_steps : {true, false}) {
          for (const bool greedy : {true, false}) {
            for (const Placing placing :
                 with_offers<Placing>(programs, {always, sometimes, never})) {
              all.push_back({.tiles = tiles,
                             .slots = slots,
                             .in_place = in_place,
                             .by_reference = at.by_reference(),
                             .placing = placing,
                             .whole_steps = whole_steps,
                             .greedy = greedy,
                             .seed = kSeed + 1 + all.size()});
            }
          }
        }
      }
    }
  }
  return all;
}

// The first fault that any rehearsal shows, or nothing.
std::string rehearse_in_many_ways(const Case& at, const std::vector<Program>& programs) {
  for (const RehearsalOptions& options : rehearsals_of(at, programs)) {
    std::string fault = rehearse(programs, at.collective, options);
    if (!fault.empty()) return fault;
  }
  return {};
}

using Places = std::vector<std::pair<Side, std::uint32_t>>;

Places places_of(const Program& program, Side side, std::int32_t first, std::uint32_t stride,
                 std::uint32_t count) {
  Places places;
  for (std::uint32_t i = 0; first != kNoChunk && i < count; ++i) {
    places.emplace_back(side, chunk_at(first, stride, i, chunks_of(program, side)));
  }
  return places;
}

// All steps of a program as they are run.
auto transcript(const Program& program, std::uint64_t tiles) {
  using Line = std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::vector<std::uint32_t>,
                          Places, Places, std::int32_t, Token, bool, bool, std::uint64_t>;
  std::vector<Line> lines;
  for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
    for (Cursor at(program, strand, tiles); !at.done(); at.next()) {
      const ResolvedStep step = at.current();
      std::vector<std::uint32_t> from, to;
      for (const auto peer : peers_of(step.receive, program.rank, program.world)) {
        from.push_back(peer);
      }
      for (const auto peer : peers_of(step.send, program.rank, program.world)) to.push_back(peer);
      std::sort(to.begin(), to.end());
      const bool in_rank_order = step.receive.covers(program.rank, program.world);
      lines.emplace_back(
          strand, from, to,
          places_of(program, step.source_side, step.source, step.source_stride, step.chunks),
          places_of(program, step.target_side, step.target, step.target_stride, step.chunks),
          step.offer, step.token, step.finish, in_rank_order && !from.empty(), step.tile);
    }
  }
  return lines;
}

struct Score {
  int mutants = 0, malformed = 0, wrong = 0, missed = 0, same = 0, harmless_accepted = 0,
      harmless_rejected = 0;
};

bool same_steps(const std::vector<Program>& a, const std::vector<Program>& b) {
  const std::uint64_t tiles = many_tiles(a, 1);
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    if (transcript(a[rank], tiles) != transcript(b[rank], tiles)) return false;
  }
  return true;
}

void judge(const Case& at, const std::vector<Program>& original, const std::vector<Program>& mutant,
           const std::string& what, Score& score) {
  ++score.mutants;
  const bool accepted = verifies(at, mutant);
  // Programs that executors need not understand cannot be rehearsed.
  if (!std::all_of(mutant.begin(), mutant.end(),
                   [](const Program& program) { return bool(check_well_formed(program)); })) {
    ++score.malformed;
    EXPECT_FALSE(accepted) << what;
    return;
  }
  if (same_steps(original, mutant)) {
    ++score.same;
    EXPECT_TRUE(accepted) << what << ": rejected, but its steps are the same as before";
    return;
  }
  const std::string fault = rehearse_in_many_ways(at, mutant);
  if (fault.empty()) {
    ++(accepted ? score.harmless_accepted : score.harmless_rejected);
    return;
  }
  ++score.wrong;
  if (accepted) ++score.missed;
  EXPECT_FALSE(accepted) << what << ": accepted, but " << fault;
}

// Mutants of one schedule: of a single rank's program, and of all ranks' alike.
Score judge_mutants(const Case& at) {
  Score score;
  const auto original = at.programs();
  EXPECT_TRUE(verifies(at, original));
  EXPECT_EQ(rehearse_in_many_ways(at, original), "");
  std::vector<std::vector<std::uint32_t>> targets{{}};
  for (std::uint32_t rank = 0; rank < at.collective.ranks; ++rank) {
    targets[0].push_back(rank);
    if (rank < 2 || rank + 1 == at.collective.ranks) targets.push_back({rank});
  }
  for (const Mutation& mutation : mutations(kMaxLoops, 2)) {
    for (const auto& ranks : targets) {
      auto mutant = original;
      bool changed = false;
      for (const std::uint32_t rank : ranks) {
        ProgramDraft draft = take_apart(original[rank]);
        if (!mutation.apply(draft)) continue;
        mutant[rank] = put_together(draft);
        changed = true;
      }
      if (!changed) continue;
      const std::string where =
          ranks.size() == 1 ? "rank " + std::to_string(ranks[0]) : "all ranks";
      judge(at, original, mutant,
            where + " of " + std::to_string(at.collective.ranks) + ", " + mutation.name, score);
    }
  }
  return score;
}

std::string name_of_entry(const testing::TestParamInfo<CatalogueEntry>& parameter) {
  return std::string(parameter.param.algorithm) + "_" + std::string(name_of(parameter.param.kind));
}

class Mutants : public testing::TestWithParam<CatalogueEntry> {};

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::ValuesIn(catalogue()), name_of_entry);

Score& operator+=(Score& total, const Score& score) {
  total.mutants += score.mutants;
  total.malformed += score.malformed;
  total.wrong += score.wrong;
  total.missed += score.missed;
  total.same += score.same;
  total.harmless_accepted += score.harmless_accepted;
  total.harmless_rejected += score.harmless_rejected;
  return total;
}

// Few ranks, with some roots; two hosts where the world can be halved, and four, so that trees of
// hosts have a root, a leaf and one between.
std::vector<Case> cases_of(const CatalogueEntry& entry) {
  std::vector<Case> cases;
  for (const std::uint32_t world : {2U, 3U, 4U, 5U, 8U}) {
    for (const std::uint32_t root : {0U, 1U}) {
      if (root != 0 && !is_rooted(entry.kind)) continue;
      const Collective collective{entry.kind, world, root};
      const bool hosts = entry.hosts && world % 2 == 0;
      cases.push_back({&entry, collective, hosts ? world / 2 : 1});
      if (hosts && world == 8) cases.push_back({&entry, collective, 2});
    }
  }
  return cases;
}

TEST_P(Mutants, ThatAreWrongAreRejected) {
  Score total;
  for (const Case& at : cases_of(GetParam())) total += judge_mutants(at);
  std::printf(
      "seed %llu: %d mutants: %d malformed and rejected; %d wrong, %d of them rejected; %d with "
      "the same steps; "
      "%d others without a fault in any rehearsal (%d accepted, %d rejected)\n",
      static_cast<unsigned long long>(kSeed), total.mutants, total.malformed, total.wrong,
      total.wrong - total.missed, total.same, total.harmless_accepted + total.harmless_rejected,
      total.harmless_accepted, total.harmless_rejected);
  std::printf("score: %d of %d wrong or malformed mutants rejected\n",
              total.malformed + total.wrong - total.missed, total.malformed + total.wrong);
  EXPECT_GT(total.wrong, 100) << "the mutations do not reach this schedule";
}

// What the verifier calls a fixed order is one: with an operation for which order matters, the
// result is the left fold over ranks 0..n-1 in every rehearsal.
TEST_P(Mutants, FixedOrderIsRankOrder) {
  const CatalogueEntry& entry = GetParam();
  if (!is_reduction(entry.kind)) return;
  bool ordered = true;
  for (const std::uint32_t world : {2U, 3U, 6U}) {
    const auto programs = programs_of(entry, world, 0);
    const std::string fault = rehearse(programs, {entry.kind, world, 0},
                                       {.tiles = 3,
                                        .slots = entry.min_slots,
                                        .by_reference = entry.by_reference,
                                        .order_matters = true,
                                        .seed = kSeed});
    EXPECT_TRUE(fault.empty() || !entry.fixed_order) << world << " ranks: " << fault;
    ordered = ordered && fault.empty();
  }
  EXPECT_EQ(ordered, entry.fixed_order);
}

}  // namespace
}  // namespace gyre::test
