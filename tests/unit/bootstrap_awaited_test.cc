// Two ranks' notes of whom they wait for, against a model of ranks that send and receive: the notes
// prove a standstill exactly when there is one.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "bootstrap/awaited_peer.hpp"
#include "bootstrap/messages.hpp"

namespace gyre {
namespace {

// Two ranks, each with a script of sends (s) and receives (r), and messages that take their time.
class Pair {
 public:
  Pair(std::string a, std::string b) : script_{std::move(a), std::move(b)} {}

  // Rank `a` does what it can do next, if it can.
  void step(std::size_t a) {
    if (next(a) == 's') {
      ++sent_[a];
      ++at_[a];
    } else if (next(a) == 'r' && arrived_[a] > taken_[a]) {
      ++taken_[a];
      ++at_[a];
    }
  }
  // One message on its way to rank `a` arrives.
  void deliver(std::size_t a) {
    if (arrived_[a] < sent_[1 - a]) ++arrived_[a];
  }
  // A rank that waits notes it, and need not note anything afterwards.
  void note(std::size_t a) {
    if (next(a) != 'r' || arrived_[a] > taken_[a]) return;
    notes_[a] = {static_cast<std::int32_t>(1 - a), sent_[a], taken_[a], 0, 0};
  }
  bool claimed() const { return wait_for_each_other(0, notes_[0], 1, notes_[1]); }
  // Nothing will ever happen again, although both want something.
  bool stands_still() const {
    return next(0) == 'r' && next(1) == 'r' && taken_[0] == sent_[1] && taken_[1] == sent_[0];
  }

 private:
  char next(std::size_t a) const { return at_[a] < script_[a].size() ? script_[a][at_[a]] : '.'; }

  std::array<std::string, 2> script_;
  std::array<std::size_t, 2> at_{};
  std::array<std::uint64_t, 2> sent_{}, arrived_{}, taken_{};
  std::array<AwaitedPeer, 2> notes_;
};

std::string script(unsigned bits) {
  std::string text;
  for (; bits > 1; bits /= 2) text += bits % 2 != 0 ? 's' : 'r';
  return text;
}

TEST(AwaitedPeer, NotesProveAStandstillAndNothingElse) {
  std::minstd_rand random(7);
  int standstills = 0;
  int ends = 0;
  for (unsigned a = 1; a < 64; ++a) {
    for (unsigned b = 1; b < 64; ++b) {
      Pair pair(script(a), script(b));
      for (int i = 0; i < 150; ++i) {
        const std::size_t rank = random() / 8 % 2;
        switch (random() / 8 % 3) {
          case 0:
            pair.step(rank);
            break;
          case 1:
            pair.deliver(rank);
            break;
          default:
            pair.note(rank);
        }
        ASSERT_TRUE(!pair.claimed() || pair.stands_still()) << script(a) << " " << script(b);
      }
      pair.note(0);
      pair.note(1);
      ASSERT_EQ(pair.claimed(), pair.stands_still()) << script(a) << " " << script(b);
      ++(pair.claimed() ? standstills : ends);
    }
  }
  EXPECT_GT(standstills, 100);
  EXPECT_GT(ends, 100);
}

TEST(AwaitedPeer, OthersAreNotMixedUp) {
  const AwaitedPeer none;
  const AwaitedPeer of_two{1, 5, 7, 0, 0};
  const AwaitedPeer of_one{2, 7, 5, 0, 0};
  EXPECT_TRUE(wait_for_each_other(2, of_two, 1, of_one));
  EXPECT_TRUE(wait_for_each_other(1, of_one, 2, of_two));
  EXPECT_FALSE(wait_for_each_other(0, of_two, 1, of_one));
  EXPECT_FALSE(wait_for_each_other(2, of_two, 3, of_one));
  EXPECT_FALSE(wait_for_each_other(2, of_two, 1, none));
  EXPECT_FALSE(wait_for_each_other(2, none, -1, none));
  EXPECT_FALSE(wait_for_each_other(2, of_two, 1, {2, 8, 5, 0, 0})) << "a message is on its way";
  EXPECT_FALSE(wait_for_each_other(2, of_two, 1, {2, 7, 4, 0, 0})) << "it had taken one less";
}

TEST(AwaitedPeer, TravelsInAnAnswer) {
  AnswerMessage answer{true, 3, 2, 77, 1ULL << 50, {}};
  answer.awaited = {12, 1ULL << 40, 9, 0x12345678, 1ULL << 60};
  const std::vector<AnswerMessage> answers = {answer, {}};
  const auto back = decode_answers(encode(answers));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, answers);
}

}  // namespace
}  // namespace gyre
