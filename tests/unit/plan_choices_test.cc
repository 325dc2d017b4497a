#include <gtest/gtest.h>

#include <vector>

#include "plan/choices.hpp"

namespace gyre {
namespace {

TEST(Choices, ClassesEndAtPowersOfTwo) {
  EXPECT_EQ(size_class(0), 0);
  EXPECT_EQ(size_class(1), 0);
  EXPECT_EQ(size_class(2), 1);
  EXPECT_EQ(size_class(3), 2);
  EXPECT_EQ(size_class(4), 2);
  EXPECT_EQ(size_class(5), 3);
  EXPECT_EQ(size_class(std::uint64_t{1} << 20), 20);
  EXPECT_EQ(size_class((std::uint64_t{1} << 20) + 1), 21);
  EXPECT_EQ(size_class(~std::uint64_t{0}), kSizeClasses - 1);
}

Choices some_choices() {
  Choices choices;
  choices.at(CallKind::all_reduce, false, 3) = {{Algorithm::tree, 16 << 10}, 2.5e-6F};
  choices.at(CallKind::scatter, true, kSizeClasses - 1) = {{Algorithm::binomial, 0}, 4.0F};
  return choices;
}

TEST(Choices, AreReadAsTheyWereWritten) {
  const Choices choices = some_choices();
  const auto read = decode_choices(encode(choices));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, choices);
  EXPECT_NE(*read, Choices());
}

TEST(Choices, NothingElseIsRead) {
  const std::vector<std::byte> good = encode(some_choices());
  for (std::size_t size : {std::size_t{0}, good.size() - 1}) {
    EXPECT_FALSE(decode_choices(std::span(good).first(size)));
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_choices(longer));
  // Each byte of the first decision: an algorithm that there is not, or that all-reduce has not; a
  // slice too long; a time that is none.
  for (const auto& [at, value] :
       {std::pair{0, 200}, {0, static_cast<int>(Algorithm::bruck)}, {1, 63}, {5, 0xff}}) {
    std::vector<std::byte> bad = good;
    bad[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(decode_choices(bad)) << at << " " << value;
  }
}

TEST(Choices, TimesLieOnLinesBetweenClasses) {
  Choices choices;
  choices.at(CallKind::all_reduce, false, 10).seconds = 1;
  choices.at(CallKind::all_reduce, false, 11).seconds = 3;
  EXPECT_DOUBLE_EQ(choices.seconds(CallKind::all_reduce, false, 1024), 1);
  EXPECT_DOUBLE_EQ(choices.seconds(CallKind::all_reduce, false, 1536), 2);
  EXPECT_DOUBLE_EQ(choices.seconds(CallKind::all_reduce, false, 2048), 3);
}

TEST(Choices, AreDescribedByTheirEnds) {
  Choices choices;
  for (int size = 0; size < kSizeClasses; ++size) {
    Choice& choice = choices.at(CallKind::all_reduce, false, size).choice;
    choice = {Algorithm::ring, 0};
    if (size <= 20) choice = {Algorithm::tree, 16 << 10};
    if (size <= 12) choice = {Algorithm::one_shot, 0};
  }
  EXPECT_EQ(describe(choices, CallKind::all_reduce),
            "all_reduce: one_shot to 4K, tree@16K to 1M, ring; in rank order two_shot");
}

TEST(Choices, OneColumnIsEnoughWhereBothAreAlike) {
  EXPECT_EQ(describe(Choices(), CallKind::broadcast), "broadcast: direct");
}

TEST(Choices, TheFirstOnesFitEverywhereAndFoldInOrder) {
  const Choices choices;
  for (const CallKind kind : kPlannedKinds) {
    const auto* schedule = schedule_of(kind, choices.at(kind, false, 20).choice.algorithm);
    ASSERT_NE(schedule, nullptr) << name_of(kind);
    EXPECT_TRUE(schedule->fixed_order) << name_of(kind);
    EXPECT_EQ(schedule->max_world, CatalogueEntry::kMaxWorld) << name_of(kind);
  }
}

}  // namespace
}  // namespace gyre
