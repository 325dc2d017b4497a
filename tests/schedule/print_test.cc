#include "schedule/print.hpp"

#include <gtest/gtest.h>

#include "collectives/direct.hpp"
#include "collectives/halving_doubling.hpp"
#include "collectives/pairwise.hpp"
#include "collectives/ring.hpp"
#include "collectives/tree.hpp"
#include "schedule/builder.hpp"

namespace gyre {
namespace {

TEST(Print, RingAllReduceIsFiveLines) {
  EXPECT_EQ(print(ring::all_reduce(1, 4)),
            "rank 1 of 4: 4 chunks in, 4 chunks out\n"
            "   1 x  send in[0] to 2\n"
            "   2 x  receive from 0, reduce with in[3-k], send to 2\n"
            "   1 x  receive from 0, reduce with in[1], finish, store in out[1], send to 2\n"
            "   2 x  receive from 0, store in out[0-k], send to 2\n"
            "   1 x  receive from 0, store in out[2]\n");
}

TEST(Print, RingAllGather) {
  EXPECT_EQ(print(ring::all_gather(0, 3)),
            "rank 0 of 3: 1 chunk in, 3 chunks out\n"
            "   1 x  copy in[0] in out[0], send to 1\n"
            "   1 x  receive from 2, store in out[2-k], send to 1\n"
            "   1 x  receive from 2, store in out[1]\n");
}

TEST(Print, OneShot) {
  EXPECT_EQ(print(direct::one_shot_all_reduce(2, 8)),
            "rank 2 of 8: 1 chunk in, 1 chunk out\n"
            "   1 x  send in[0] to everyone; receive from everyone, reduce with in[0], finish, "
            "store in out[0]\n");
}

TEST(Print, TwoShotShowsItsLags) {
  EXPECT_EQ(print(direct::two_shot_all_reduce(0, 4)),
            "rank 0 of 4: 4 chunks in, 4 chunks out\n"
            "   3 x  send in[1+k] to 1+k, offering out[1+k]\n"
            "   1 x  1 tile back: receive from everyone, reduce with in[0], finish, store in "
            "out[0], send to everyone\n"
            "   3 x  2 tiles back: receive from 1+k, store in out[1+k]\n");
}

TEST(Print, AllToAll) {
  EXPECT_EQ(print(pairwise::all_to_all(1, 3)),
            "rank 1 of 3: 3 chunks in, 3 chunks out\n"
            "   1 x  copy in[1] in out[1]\n"
            "   2 x  send in[2+k] to 2+k; receive from 0-k, store in out[0-k]\n");
}

TEST(Print, HalvingDoublingOfAnyWorldIsAFewLines) {
  EXPECT_EQ(print(halving_doubling::all_reduce(1, 5)),
            "rank 1 of 5: 5 chunks in, 5 chunks out\n"
            "   1 x  copy in[3] in out[3]\n"
            "   1 x  rounds of 5 halving from 0 on: send in[1+d, m chunks] to 1+d; receive from "
            "1-d, reduce with in[1, m chunks], store in out[1, m chunks]\n"
            "   1 x  rounds of 5 halving from 1 on: send out[1+d, m chunks] to 1+d; receive from "
            "1-d, reduce with out[1, m chunks], store in out[1, m chunks]\n"
            "   1 x  rounds of 5 halving from 2 on: send out[1+d, m chunks] to 1+d; receive from "
            "1-d, reduce with out[1, m chunks], finish, store in out[1, m chunks]\n"
            "   3 x  rounds of 5 doubling from 2 on: send out[1, m chunks] to 1-d; receive from "
            "1+d, store in out[1+d, m chunks]\n");
}

TEST(Print, ATreesRootTellsItsOtherStrand) {
  EXPECT_EQ(print(tree::all_reduce(1, 3)),
            "rank 1 of 3: 1 chunk in, 1 chunk out\n"
            "  strand 0\n"
            "   1 x  receive from the 2 from 0 on, 2 apart, reduce with in[0], finish, store in "
            "out[0], tell the other strand\n"
            "  strand 1\n"
            "   1 x  wait for the other strand, send out[0] to the 2 from 0 on, 2 apart\n");
}

TEST(Print, StrandsAndRanges) {
  const Program program = Builder(0, 9)
                              .loop(2, send(In{0}, To{1, 2, 3}))
                              .strand()
                              .loop(1, recv_store(From{5, -2, 2}, Out{0}))
                              .program();
  EXPECT_EQ(print(program),
            "rank 0 of 9: 1 chunk in, 1 chunk out\n"
            "  strand 0\n"
            "   2 x  send in[0] to the 3 from 1+2k on\n"
            "  strand 1\n"
            "   1 x  receive from the 2 from 5-2k on, store in out[0]\n");
}

}  // namespace
}  // namespace gyre
