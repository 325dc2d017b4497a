// Small calls like the one before take a shorter way (Communicator::restarted): rows of them, on
// changing buffers, with others in between, must give what each alone would.
#include <random>

#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

constexpr int kRows = 400;
constexpr std::size_t kMostCount = 3000;  // of 4 bytes: on both sides of what is small

using Numbers = std::vector<std::int32_t>;

enum class Kind {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  kinds
};

// The same call several times; the same on every rank.
struct Row {
  Kind kind;
  std::size_t count;
  int root;
  bool in_place;
  int times;
};

std::vector<Row> make_rows(int world) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(test_seed()) * 100 +
                      static_cast<unsigned>(world));
  const auto below = [&](int most) {
    return std::uniform_int_distribution<int>(0, most - 1)(random);
  };
  std::vector<Row> rows;
  while (rows.size() < kRows) {
    const Row row{
        .kind = static_cast<Kind>(below(static_cast<int>(Kind::kinds))),
        .count = static_cast<std::size_t>(below(3) != 0 ? 1 + below(40) : 1 + below(kMostCount)),
        .root = below(world),
        .in_place = below(2) == 0,
        .times = 1 + below(4)};
    rows.push_back(row);
    // Alike but for where it lies: at first, an all-to-all in place is copied aside.
    if (row.kind != Kind::all_to_all) continue;
    rows.push_back(row);
    rows.back().in_place = !row.in_place;
  }
  return rows;
}

std::int32_t given(int rank, std::size_t i, int call) {
  return static_cast<std::int32_t>(i) * 7 + rank * 1000 + call * 13;
}

class Caller {
 public:
  Caller(ncclComm_t comm, int rank, int world) : comm_(comm), rank_(rank), world_(world) {}

  void make(const Row& row, int call) {
    const auto n = static_cast<std::size_t>(world_);
    const bool many = row.kind == Kind::reduce_scatter || row.kind == Kind::all_to_all ||
                      (row.kind == Kind::scatter && rank_ == row.root);
    const std::size_t sent = row.count * (many ? n : 1);
    // Another place each time.
    const std::size_t shift = static_cast<std::size_t>(call) % 5;
    in_.assign(sent + shift, 0);
    out_.assign(row.count * n + shift, -1);
    std::int32_t* const output = out_.data() + shift;
    std::int32_t* input = in_.data() + shift;
    if (row.in_place && row.kind == Kind::all_gather) {
      input = output + row.count * static_cast<std::size_t>(rank_);
    } else if (row.in_place && may_share_begin(row.kind)) {
      input = output;
    }
    for (std::size_t i = 0; i < sent; ++i) input[i] = given(rank_, i, call);
    ASSERT_TRUE(ok(issue(row, input, output)));
    for (std::size_t i = 0; i < received(row); ++i) {
      ASSERT_EQ(output[i], expected(row, i, call))
          << "kind " << static_cast<int>(row.kind) << ", count " << row.count << ", element " << i;
    }
  }

 private:
  static bool may_share_begin(Kind kind) {
    return kind != Kind::reduce_scatter && kind != Kind::gather && kind != Kind::scatter;
  }
  ncclResult_t issue(const Row& row, const std::int32_t* input, std::int32_t* output) const {
    const auto type = ncclInt32;
    switch (row.kind) {
      case Kind::all_reduce:
        return ncclAllReduce(input, output, row.count, type, ncclSum, comm_, nullptr);
      case Kind::all_gather:
        return ncclAllGather(input, output, row.count, type, comm_, nullptr);
      case Kind::reduce_scatter:
        return ncclReduceScatter(input, output, row.count, type, ncclSum, comm_, nullptr);
      case Kind::all_to_all:
        return ncclAlltoAll(input, output, row.count, type, comm_, nullptr);
      case Kind::broadcast:
        return ncclBroadcast(input, output, row.count, type, row.root, comm_, nullptr);
      case Kind::gather:
        return ncclGather(input, output, row.count, type, row.root, comm_, nullptr);
      case Kind::scatter:
        return ncclScatter(input, output, row.count, type, row.root, comm_, nullptr);
      default:
        return ncclReduce(input, output, row.count, type, ncclMax, row.root, comm_, nullptr);
    }
  }
  std::size_t received(const Row& row) const {
    const bool to_root = row.kind == Kind::reduce || row.kind == Kind::gather;
    if (to_root && rank_ != row.root) return 0;
    const bool many =
        row.kind == Kind::all_gather || row.kind == Kind::all_to_all || row.kind == Kind::gather;
    return row.count * (many ? static_cast<std::size_t>(world_) : 1);
  }
  std::int32_t expected(const Row& row, std::size_t i, int call) const {
    const int from = static_cast<int>(i / row.count);
    const std::size_t own = row.count * static_cast<std::size_t>(rank_);
    const auto sum_of = [&](std::size_t element) {
      std::int32_t sum = 0;
      for (int rank = 0; rank < world_; ++rank) sum += given(rank, element, call);
      return sum;
    };
    switch (row.kind) {
      case Kind::all_reduce:
        return sum_of(i);
      case Kind::all_gather:
      case Kind::gather:
        return given(from, i % row.count, call);
      case Kind::scatter:
        return given(row.root, own + i, call);
      case Kind::reduce_scatter:
        return sum_of(own + i);
      case Kind::all_to_all:
        return given(from, own + i % row.count, call);
      case Kind::broadcast:
        return given(row.root, i, call);
      default:
        return given(world_ - 1, i, call);
    }
  }

  ncclComm_t comm_;
  int rank_, world_;
  Numbers in_, out_;
};

class Again : public testing::TestWithParam<int> {};

TEST_P(Again, RowsOfCallsGiveWhatEachAloneWould) {
  const int world = GetParam();
  const std::vector<Row> rows = make_rows(world);
  with_ranks(world, [&](ncclComm_t comm, int rank) {
    Caller caller(comm, rank, world);
    int call = 0;
    for (const Row& row : rows) {
      for (int i = 0; i < row.times && !testing::Test::HasFailure(); ++i) caller.make(row, call++);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, Again, testing::Values(1, 2, 3, 5));

// What is wrong with a call is found on the shorter way as well.
TEST(AgainWrong, ACountThatDiffersIsNamed) {
  constexpr int kWorld = 2;
  const ncclUniqueId id = new_id();
  on_threads(kWorld, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_TRUE(ok(ncclCommInitRank(&comm, kWorld, id, rank)));
    Numbers numbers(16);
    const auto sum = [&](std::size_t count) {
      return ncclAllReduce(numbers.data(), numbers.data(), count, ncclInt32, ncclSum, comm,
                           nullptr);
    };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(ok(sum(4)));
    const ncclResult_t differs = sum(rank == 0 ? 4 : 5);
    EXPECT_TRUE(differs == ncclInvalidUsage || differs == ncclRemoteError) << differs;
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("disagree"), std::string::npos)
        << ncclGetLastError(nullptr);
    EXPECT_NE(sum(4), ncclSuccess);  // and from then on
    EXPECT_TRUE(ok(ncclCommAbort(comm)));
  });
}

TEST(AgainWrong, BuffersAndRootsAreLookedAtEachTime) {
  with_ranks(2, [&](ncclComm_t comm, int rank) {
    Numbers numbers(8, rank);
    const auto send = [&](std::int32_t* output, int root) {
      return ncclBroadcast(numbers.data(), output, 2, ncclInt32, root, comm, nullptr);
    };
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(ok(send(numbers.data(), 0)));
    EXPECT_EQ(send(nullptr, 0), ncclInvalidArgument);
    EXPECT_EQ(send(numbers.data(), 2), ncclInvalidArgument);
    EXPECT_EQ(send(numbers.data(), -1), ncclInvalidArgument);
    EXPECT_TRUE(ok(send(numbers.data(), 0)));  // nothing is broken by that
    EXPECT_EQ(numbers[1], 0);
  });
}

}  // namespace
}  // namespace gyre::test
