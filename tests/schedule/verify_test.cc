// What the verifier refuses, and how it says so.
#include "schedule/verify.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "schedule/builder.hpp"
#include "schedule/well_formed.hpp"

namespace gyre {
namespace {

constexpr VerifyOptions kManyTiles{.tiles = 20, .slots = 2};

// Verifies programs that `build` gives per rank; the text of the error, or "".
template <typename Build>
std::string refusal(const Collective& collective, const VerifyOptions& options, Build build) {
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < collective.ranks; ++rank) programs.push_back(build(rank));
  const auto report = verify(programs, CollectiveSpecification(collective), options);
  return report ? "" : report.error().text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Verify, FindsTheDeadlockOfARingWithOneSlot) {
  const auto& ring = *find_schedule("ring", CollectiveKind::all_reduce);
  const auto stuck = verify(ring, 4, 0, {.tiles = 1, .slots = 1});
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().status, Status::invalid_argument);
  EXPECT_TRUE(contains(stuck.error().text, "deadlock with 1 tiles and 1 slots"))
      << stuck.error().text;
  EXPECT_TRUE(contains(stuck.error().text, "rank 2 (tile 0) waits for a slot to 3"))
      << stuck.error().text;
  EXPECT_TRUE(verify(ring, 4, 0, {.tiles = 50, .slots = 2}));
}

// Everybody first sends a whole column of chunks and then receives one: right for few chunks, stuck
// as soon as they outnumber the slots.
TEST(Verify, FindsDeadlocksThatNeedMoreChunksThanSlots) {
  const auto build = [](std::int64_t chunks) {
    return [chunks](std::uint32_t rank) {
      return Builder(rank, 2, static_cast<std::uint32_t>(chunks),
                     static_cast<std::uint32_t>(chunks))
          .loop(chunks, send(In{0, 1}, To{rank + 1}))
          .loop(chunks, recv_reduce_store(From{rank + 1}, In{0, 1}, Out{0, 1}).finish())
          .program();
    };
  };
  const Collective all_reduce{CollectiveKind::all_reduce, 2};
  EXPECT_EQ(refusal(all_reduce, {.tiles = 9, .slots = 4}, build(4)), "");
  EXPECT_TRUE(contains(refusal(all_reduce, {.tiles = 9, .slots = 4}, build(5)), "deadlock"));
}

TEST(Verify, MoreSlotsNeverHurt) {
  for (const CatalogueEntry& entry : catalogue()) {
    for (std::uint32_t slots = entry.min_slots; slots < 12; ++slots) {
      EXPECT_TRUE(
          verify(entry, 5, 0, {.tiles = 17, .slots = slots, .by_reference = entry.by_reference}))
          << entry.algorithm << " " << name_of(entry.kind) << ", " << slots << " slots";
    }
  }
}

TEST(Verify, RefusesToOverwriteWhatPeersStillRead) {
  const auto& one_shot = *find_schedule("one_shot", CollectiveKind::all_reduce);
  const auto programs = programs_of(one_shot, 3);
  const CollectiveSpecification specification({CollectiveKind::all_reduce, 3});
  VerifyOptions options{.tiles = 4, .slots = 2, .in_place = true};
  const auto racing = verify(programs, specification, options);
  ASSERT_FALSE(racing);
  EXPECT_TRUE(contains(racing.error().text, "overwrites output chunk 0, which may still be read"))
      << racing.error().text;
  options.by_reference = false;
  EXPECT_TRUE(verify(programs, specification, options));
  EXPECT_FALSE(verify(one_shot, 3, 0, {})) << "the catalogue refuses it as well";
}

// Rank 0 sends its stored chunk by reference and then stores it again.
TEST(Verify, RefusesToStoreTwiceWhileAReferenceIsOut) {
  const auto build = [](std::uint32_t rank) {
    if (rank == 1) return Builder(1, 2).loop(1, recv_store(From{0}, Out{0})).program();
    return Builder(0, 2)
        .loop(1, copy_send(In{0}, Out{0}, To{1}))
        .loop(1, copy(In{0}, Out{0}))
        .program();
  };
  const Collective broadcast{CollectiveKind::broadcast, 2, 0};
  EXPECT_TRUE(contains(refusal(broadcast, {}, build), "may still be read"));
  EXPECT_EQ(refusal(broadcast, {.by_reference = false}, build), "");
}

// An all-reduce of two ranks, each of which reduces its own chunk and offers the other.
Program offering(std::uint32_t rank, std::int64_t offered, bool meddles) {
  const std::int64_t r = rank;
  Builder builder(rank, 2, 2, 2);
  builder.loop(1, send(In{r + 1}, To{r + 1}).offering(Out{offered}));
  if (meddles) builder.loop(1, copy(In{r + 1}, Out{r + 1}));
  return builder
      .loop(1, recv_reduce_store_send(from_everyone(2), In{r}, Out{r}, to_everyone(2)).finish())
      .loop(1, recv_store(From{r + 1}, Out{r + 1}))
      .program();
}

TEST(Verify, LetsPeersWriteResultsOnlyWhereTheyAreWantedAndNobodyElseWorks) {
  const Collective all_reduce{CollectiveKind::all_reduce, 2};
  const auto refused = [&](VerifyOptions options, bool to_wrong_place, bool meddles) {
    return refusal(all_reduce, options, [=](std::uint32_t rank) {
      return offering(rank, to_wrong_place ? rank : rank + 1, meddles);
    });
  };
  for (const bool in_place : {false, true}) {
    EXPECT_EQ(refused({.in_place = in_place}, false, false), "");
  }
  EXPECT_NE(refused({}, true, false), "") << "a place that the owner stores to itself";
  EXPECT_NE(refused({}, false, true), "") << "the owner writes there meanwhile";
  EXPECT_EQ(refused({.placing = false}, true, true), "") << "nobody makes use of the offers";
}

// An all-reduce of three ranks in which rank 0 offers its output to rank 1, whose partial sum it
// then adds to what it has of rank 2: without storing it, or among other operands, or alone.
enum class Takes { to_pass_on, with_others, alone };
Program adding_up(std::uint32_t rank, Takes takes) {
  Builder builder(rank, 3);
  const Draft result = recv_store(From{2}, Out{0});
  if (rank == 1) {
    return builder.loop(1, recv_reduce_store_send(From{0}, In{0}, Out{0}, To{0}))
        .loop(1, result)
        .program();
  }
  if (rank == 2) {
    return builder.loop(1, send(In{0}, To{0}))
        .loop(1, recv_store_send(From{0}, Out{0}, To{0, 0, 2}))
        .program();
  }
  builder.scratch(1).loop(1, send(In{0}, To{1}).offering(Out{0}));
  const Draft sum_up = recv_reduce_send(From{2}, Out{0}, To{2}).finish();
  if (takes == Takes::alone) {
    builder.loop(1, recv_store(From{1}, Out{0})).loop(1, sum_up);
  } else if (takes == Takes::with_others) {
    builder.loop(1, recv_store_send(From{1, 0, 2}, Out{0}, To{2}).finish());
  } else {
    builder.loop(1, recv_store(From{2}, Scratch{0}))
        .loop(1, recv_reduce_send(From{1}, Scratch{0}, To{2}).finish());
  }
  return builder.loop(1, result).program();
}

TEST(Verify, TakesWhatWasPlacedOnlyToStoreIt) {
  const auto refused = [](Takes takes, bool placing) {
    return refusal({CollectiveKind::all_reduce, 3}, {.tiles = 3, .placing = placing},
                   [=](std::uint32_t rank) { return adding_up(rank, takes); });
  };
  EXPECT_EQ(refused(Takes::alone, true), "");
  for (const Takes takes : {Takes::to_pass_on, Takes::with_others}) {
    EXPECT_EQ(refused(takes, false), "");
    EXPECT_TRUE(contains(refused(takes, true), "does not only store it")) << refused(takes, true);
  }
}

TEST(Verify, RefusesOffersOfAMissingOutput) {
  const auto build = [](std::uint32_t rank) {
    if (rank == 1) return Builder(1, 2).loop(1, send(In{0}, To{0}).offering(Out{0})).program();
    return Builder(0, 2).loop(1, recv_reduce_store(From{1}, In{0}, Out{0}).finish()).program();
  };
  EXPECT_TRUE(contains(refusal({CollectiveKind::reduce, 2, 0}, {}, build), "missing output"));
}

TEST(Verify, OffersBelongToStepsThatOnlySend) {
  const Program program =
      Builder(0, 2).loop(1, copy_send(In{0}, Out{0}, To{1}).offering(Out{0})).program();
  const auto checked = check_well_formed(program);
  ASSERT_FALSE(checked);
  EXPECT_TRUE(contains(checked.error().text, "offers a chunk")) << checked.error().text;
}

// An all-gather of three ranks with a strand per direction.
Program both_ways(std::uint32_t rank, bool second_strand_copies) {
  const std::int64_t r = rank;
  Builder builder(rank, 3, 1, 3);
  builder.loop(1, copy_send(In{0}, Out{r}, To{r + 1})).loop(1, recv_store(From{r - 1}, Out{r - 1}));
  builder.strand().loop(1, send(In{0}, To{r - 1})).loop(1, recv_store(From{r + 1}, Out{r + 1}));
  if (second_strand_copies) builder.loop(1, copy(In{0}, Out{r}));
  return builder.program();
}

TEST(Verify, RunsStrandsBesideEachOtherAndSeesTheirRaces) {
  const Collective all_gather{CollectiveKind::all_gather, 3};
  EXPECT_EQ(refusal(all_gather, kManyTiles, [](auto rank) { return both_ways(rank, false); }), "");
  EXPECT_TRUE(
      contains(refusal(all_gather, kManyTiles, [](auto rank) { return both_ways(rank, true); }),
               "overwrites"));
}

TEST(Verify, RefusesStrandsThatShareALane) {
  const Program program =
      Builder(0, 2).loop(1, send(In{0}, To{1})).strand().loop(1, send(In{0}, To{1})).program();
  const auto checked = check_well_formed(program);
  ASSERT_FALSE(checked);
  EXPECT_TRUE(contains(checked.error().text, "uses a lane of another strand"));
}

TEST(Verify, NamesMessagesThatNobodyTakes) {
  const auto build = [](std::uint32_t rank) {
    if (rank == 1) return Builder(1, 2).loop(1, recv_store(From{0}, Out{0})).program();
    return Builder(0, 2)
        .loop(1, copy_send(In{0}, Out{0}, To{1}))
        .loop(1, send(In{0}, To{1}))
        .program();
  };
  EXPECT_EQ(refusal({CollectiveKind::broadcast, 2, 0}, {.tiles = 1, .slots = 4}, build),
            "rank 1 does not take 1 messages of rank 0");
}

TEST(Verify, WantsFinishExactlyWhereAReductionIsComplete) {
  const auto build = [](bool early, bool late) {
    return [=](std::uint32_t rank) {
      const auto mark = [](Draft draft, bool finishes) {
        return finishes ? draft.finish() : draft;
      };
      if (rank == 1) return Builder(1, 2).loop(1, mark(send(In{0}, To{0}), early)).program();
      return Builder(0, 2).loop(1, mark(recv_reduce_store(From{1}, In{0}, Out{0}), late)).program();
    };
  };
  const Collective reduce{CollectiveKind::reduce, 2, 0};
  EXPECT_EQ(refusal(reduce, {}, build(false, true)), "");
  EXPECT_TRUE(contains(refusal(reduce, {}, build(false, false)), "without finishing it"));
  EXPECT_TRUE(contains(refusal(reduce, {}, build(true, true)), "not just complete"));
}

TEST(Verify, RefusesForeignBuffersAndShapes) {
  const auto reads = [](std::uint32_t rank) {
    return Builder(rank, 2).loop(1, copy(In{0}, Out{0})).program();
  };
  EXPECT_TRUE(contains(refusal({CollectiveKind::broadcast, 2, 0}, {}, reads), "missing input"));
  EXPECT_TRUE(
      contains(refusal({CollectiveKind::reduce, 2, 0}, {},
                       [](std::uint32_t rank) {
                         if (rank == 0) {
                           return Builder(0, 2).loop(1, recv_store(From{1}, Out{0})).program();
                         }
                         return Builder(1, 2).loop(1, copy_send(In{0}, Out{0}, To{0})).program();
                       }),
               "missing output"));
  EXPECT_TRUE(contains(refusal({CollectiveKind::all_gather, 2}, {}, reads), "cannot be cut"));
}

// A rank whose second strand sends what its first one stored, after a token or without.
Program relay(std::uint32_t rank, bool gives, bool takes) {
  if (rank == 1) return Builder(1, 2).loop(1, recv_store(From{0}, Out{0})).program();
  const Draft store = copy(In{0}, Out{0}), pass_on = send(Out{0}, To{1});
  return Builder(0, 2)
      .loop(1, gives ? store.telling_other_strand() : store)
      .strand()
      .loop(1, takes ? pass_on.after_other_strand() : pass_on)
      .program();
}

TEST(Verify, OrdersTheStrandsOfARankByTheirTokens) {
  const Collective broadcast{CollectiveKind::broadcast, 2, 0};
  const auto refused = [&](bool gives, bool takes, std::uint64_t tiles) {
    return refusal(broadcast, {.tiles = tiles, .slots = 2},
                   [=](std::uint32_t rank) { return relay(rank, gives, takes); });
  };
  EXPECT_EQ(refused(true, true, 9), "");
  EXPECT_NE(refused(false, false, 1), "");
  EXPECT_TRUE(contains(refused(false, true, 1), "deadlock")) << refused(false, true, 1);
  EXPECT_NE(refused(true, false, 9), "") << "tokens that nobody takes fill their lane";
}

// Rank 0 sends two chunks in one message; rank 1 takes as many, or not.
TEST(Verify, WantsMessagesOfTheSameLengthAtBothEnds) {
  const auto build = [](std::uint32_t taken) {
    return [taken](std::uint32_t rank) {
      if (rank == 1) {
        return Builder(1, 2, 4, 4)
            .loop(4 / taken, recv_store(From{0}, Out{0, 2, taken, 1}))
            .program();
      }
      return Builder(0, 2, 4, 4).loop(2, copy_send(In{0, 2, 2}, Out{0, 2, 2}, To{1})).program();
    };
  };
  const Collective broadcast{CollectiveKind::broadcast, 2, 0};
  EXPECT_EQ(refusal(broadcast, {}, build(2)), "");
  EXPECT_TRUE(contains(refusal(broadcast, {}, build(1)), "takes 1 chunks, but rank 0 sent 2"));
}

TEST(Verify, ReadsBackOnlyWhatWasStored) {
  const auto build = [](bool stores) {
    return [stores](std::uint32_t rank) {
      if (rank == 1) return Builder(1, 2).loop(1, recv_store(From{0}, Out{0})).program();
      Builder builder(0, 2);
      builder.scratch(1);
      if (stores) builder.loop(1, copy(In{0}, Scratch{0}));
      return builder.loop(1, copy_send(Scratch{0}, Out{0}, To{1})).program();
    };
  };
  const Collective broadcast{CollectiveKind::broadcast, 2, 0};
  EXPECT_EQ(refusal(broadcast, {.tiles = 3}, build(true)), "");
  EXPECT_TRUE(contains(refusal(broadcast, {}, build(false)), "holds nothing yet"));
}

TEST(Verify, ABarrierLetsNobodyEndBeforeAllHaveBegun) {
  const Collective barrier{CollectiveKind::barrier, 4};
  const auto build = [](std::int64_t rounds) {
    return [rounds](std::uint32_t rank) {
      return Builder(rank, 4)
          .loop(doubling(4, 0, rounds), send(In{0}, to_above(rank)),
                recv_store(from_below(rank), Out{0}))
          .program();
    };
  };
  EXPECT_EQ(refusal(barrier, kManyTiles, build(2)), "");
  EXPECT_TRUE(contains(refusal(barrier, kManyTiles, build(1)), "may end before"));
}

TEST(WellFormed, RefusesRunsAndRoundsThatMeanNothing) {
  const Program good = Builder(1, 4, 4, 4)
                           .loop(doubling(4), send(near(In{1}), to_across(1)),
                                 recv_store(From{0, 0, 2, 2}, Out{0, 0, 2, 2}))
                           .program();
  ASSERT_TRUE(check_well_formed(good)) << check_well_formed(good).error().text;
  const auto refuses = [&](auto change) {
    Program program = good;
    change(program);
    return !check_well_formed(program);
  };
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].trips = 3; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].rounds.advance = 1; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].rounds = {}; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].rounds.span = 9; })) << "a partner of 5";
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].token = Token::give; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[1].receive.first = 1; })) << "strides over itself";
  EXPECT_TRUE(refuses([](Program& p) { p.steps[1].receive.count = 3; })) << "a rank twice";
  EXPECT_TRUE(refuses([](Program& p) { p.steps[1].target.count = 3; })) << "a chunk twice";
  EXPECT_TRUE(refuses([](Program& p) { p.steps[1].target.side = Side::input; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[1].target.side = Side::scratch; }));
}

TEST(WellFormed, RefusesWhatNoReaderCouldRun) {
  const Program good = Builder(1, 4, 2, 2).loop(2, send(In{0, 1}, To{2})).program();
  ASSERT_TRUE(check_well_formed(good));
  const auto refuses = [&](auto change) {
    Program program = good;
    change(program);
    return !check_well_formed(program);
  };
  EXPECT_TRUE(refuses([](Program& p) { p.rank = 4; }));
  EXPECT_TRUE(refuses([](Program& p) { p.world = 0; }));
  EXPECT_TRUE(refuses([](Program& p) { p.input_chunks = 0; }));
  EXPECT_TRUE(refuses([](Program& p) { p.step_count = kMaxSteps + 1; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loop_count = 0; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].steps = 2; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].first_step = 3; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].trips = 0; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].trips = ~std::uint32_t{0}; }));
  EXPECT_TRUE(refuses([](Program& p) { p.loops[0].lag = 1'000; }));
  EXPECT_TRUE(refuses([](Program& p) { p.strands[0].loops = 9; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].send.first = 4; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].send.count = 5; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].source.index = 2; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].source.index = 0xfffe; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].source = {}; }));
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].send = {}; }));
  EXPECT_TRUE(refuses([](Program& p) {
    p.steps[0].receive = {3, 1, 0};
    p.steps[0].source = {};
  })) << "nothing says how much it forwards";
  EXPECT_TRUE(refuses([](Program& p) { p.steps[0].receive = {3, 3, 0}; })) << "wraps over itself";
}

TEST(Verify, HandlesAThousandRanks) {
  const auto& reduce = *find_schedule("ring", CollectiveKind::reduce);
  EXPECT_TRUE(verify(reduce, 1000, 500, {.tiles = 2, .slots = 1}));
}

}  // namespace
}  // namespace gyre
