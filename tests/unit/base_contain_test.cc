#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/contain.hpp"
#include "tests/scarce_memory.hpp"

namespace gyre {
namespace {

Error caught(void (*body)()) {
  const auto result = contained("rank 3 at work", [body]() -> Result<int> {
    body();
    return 1;
  });
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

TEST(Contained, PassesResultsOn) {
  const auto good = contained("", []() -> Result<int> { return 7; });
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 7);
  const auto bad = contained("", []() -> Result<void> { return Error{Status::timeout, "late"}; });
  EXPECT_EQ(bad.status(), Status::timeout);
  EXPECT_EQ(bad.error().text, "late");
}

TEST(Contained, SaysWhoRanOutOfWhat) {
  const Error memory = caught([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status, Status::system);
  EXPECT_EQ(memory.text, "rank 3 at work: out of memory");
  const Error thread = caught([] {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(thread.status, Status::system);
  EXPECT_NE(thread.text.find("rank 3 at work: "), std::string::npos);
}

// What the test prints needs memory, so it looks only when there is some again.
template <typename Body>
auto without_memory(Body&& body) {
  test::largest_block = 0;
  auto result = body();
  test::largest_block = test::kNoLimit;
  return result;
}

TEST(Contained, NeedsNoMemoryToSayThatThereIsNone) {
  const auto failed = without_memory([] {
    return contained("a rank with a name too long for a small string", []() -> Result<int> {
      return static_cast<int>(std::string(100, 'x').size());
    });
  });
  EXPECT_EQ(failed.status(), Status::system);
  EXPECT_EQ(failed.error().text, "out of memory");
}

TEST(Contained, AnErrorIsPassedOnWithoutMemory) {
  const Result<int> failed = Error{Status::timeout, std::string(100, 'x')};
  const Error passed = without_memory([&] {
    Result<int> copy = failed;
    Result<int> moved = std::move(copy);
    return std::move(moved).error();
  });
  EXPECT_EQ(passed.text, "out of memory");
  const Error again = without_memory([&] { return Result<int>(failed).error(); });
  EXPECT_EQ(again.text, "out of memory");
  EXPECT_EQ(failed.error().text, std::string(100, 'x'));
}

TEST(Contained, EverythingElseIsADefectOfOurs) {
  EXPECT_EQ(caught([] { throw std::logic_error("odd"); }).text, "rank 3 at work: odd");
  EXPECT_EQ(caught([] { throw std::logic_error("odd"); }).status, Status::internal);
  EXPECT_EQ(caught([] { throw 42; }).status, Status::internal);
}

}  // namespace
}  // namespace gyre
