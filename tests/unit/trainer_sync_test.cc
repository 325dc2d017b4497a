// Buckets, the fixed tree of sums, and whole training runs of several ranks in one process.
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "trainer/matmul.hpp"
#include "trainer/train.hpp"

namespace gyre::train {
namespace {

TEST(Buckets, CoverTheArrayFromItsEnd) {
  for (const std::size_t size : {0U, 1U, 9U, 10U, 11U, 100U}) {
    std::size_t end = size;
    for (const Bucket& bucket : cut_into_buckets(size, 10)) {
      EXPECT_EQ(bucket.end, end);
      EXPECT_LT(bucket.begin, bucket.end);
      EXPECT_LE(bucket.end - bucket.begin, 10U);
      end = bucket.begin;
    }
    EXPECT_EQ(end, 0U);
  }
}

std::vector<float> tree_sum(const std::vector<std::vector<float>>& vectors, std::size_t begin,
                            std::size_t count) {
  PairwiseSum sum(vectors[0].size());
  for (std::size_t i = begin; i < begin + count; ++i) {
    auto copy = vectors[i];
    sum.add(copy);
  }
  return {sum.sum().begin(), sum.sum().end()};
}

TEST(PairwiseSum, SubtreesOfRanksCompleteTheSameTree) {
  constexpr unsigned kSeed = 4;
  std::mt19937 engine(kSeed);
  std::lognormal_distribution<float> wide(0.0F, 6.0F);  // grouping shows in the last bits
  std::vector<std::vector<float>> vectors(16, std::vector<float>(100));
  for (auto& vector : vectors) {
    for (float& value : vector) value = wide(engine);
  }
  const auto whole = tree_sum(vectors, 0, 16);
  for (const std::size_t ranks : {2U, 4U, 8U, 16U}) {
    std::vector<std::vector<float>> partial;
    for (std::size_t r = 0; r < ranks; ++r) {
      partial.push_back(tree_sum(vectors, r * (16 / ranks), 16 / ranks));
    }
    EXPECT_EQ(tree_sum(partial, 0, ranks), whole) << ranks << " ranks, seed " << kSeed;
  }
  auto sequential = vectors[0];
  for (std::size_t v = 1; v < 16; ++v) {
    for (std::size_t i = 0; i < 100; ++i) sequential[i] += vectors[v][i];
  }
  EXPECT_NE(sequential, whole) << "the inputs do not show the grouping";
}

// Sums in ascending order of rank, or by pairs as Communicator does, with barriers instead of a
// library. Work queued on a host stream runs on its worker, so each rank blocks only its own.
class ThreadSum {
 public:
  explicit ThreadSum(int world)
      : world_(world), barrier_(world), data_(static_cast<std::size_t>(world)) {}

  void all_reduce(int rank, float* data, std::size_t count, bool pairwise) {
    const auto me = static_cast<std::size_t>(rank);
    for (int bit = 1; bit < world_; bit = pairwise ? bit * 2 : world_) {
      data_[me] = data;
      barrier_.arrive_and_wait();
      std::vector<float> sum(count);
      for (std::size_t i = 0; i < count; ++i) {
        sum[i] = pairwise ? data_[me & ~static_cast<std::size_t>(bit)][i] +
                                data_[me | static_cast<std::size_t>(bit)][i]
                          : sum_of_all(i);
      }
      barrier_.arrive_and_wait();
      std::copy(sum.begin(), sum.end(), data);
    }
    barrier_.arrive_and_wait();
  }

 private:
  float sum_of_all(std::size_t i) const {
    float sum = 0;
    for (const float* data : data_) sum += data[i];
    return sum;
  }
  int world_;
  std::barrier<> barrier_;
  std::vector<float*> data_;
};

class OneRank final : public SumOverRanks {
 public:
  OneRank(ThreadSum& all, int rank, bool pairwise) : all_(all), rank_(rank), pairwise_(pairwise) {}
  // Without streams: the sum is complete when the call returns, which the contract allows.
  void enqueue(float* data, std::size_t count, gyreStream_t) override {
    all_.all_reduce(rank_, data, count, pairwise_);
  }

 private:
  ThreadSum& all_;
  int rank_;
  bool pairwise_;
};

std::vector<float> train(Options options, int world) {
  set_blas_threads(1);
  std::vector<std::uint8_t> bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>("gyre turns round "[i % 17]);
  }
  const Text text(bytes, options.model.context);
  ThreadSum all(world);
  std::vector<std::vector<float>> results(static_cast<std::size_t>(world));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      const Device device(gyreDeviceHost, rank);
      OneRank sum(all, rank, options.reproducible);
      Trainer trainer(options, text, device, sum, rank, world);
      Progress progress(true, options.steps, 0, "");
      trainer.run(progress);
      results[static_cast<std::size_t>(rank)].assign(trainer.parameters().begin(),
                                                     trainer.parameters().end());
    });
  }
  for (auto& rank : ranks) rank.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]) << "ranks differ";
  return results[0];
}

Options small_run() {
  Options options;
  options.model = {.layers = 2, .heads = 2, .width = 16, .context = 8};
  options.batch = 8;
  options.steps = 12;
  options.learning_rate.warmup_steps = 4;
  options.bucket_mb = 0.005;  // several buckets
  return options;
}

TEST(Training, ReproducibleRunsAreBitEqualForEveryWorld) {
  Options options = small_run();
  options.reproducible = true;
  const auto one = train(options, 1);
  for (const int world : {2, 4, 8}) EXPECT_EQ(train(options, world), one) << world << " ranks";
}

TEST(Training, WorldsAgreeCloselyInAnyMode) {
  const Options options = small_run();
  const auto one = train(options, 1);
  for (const int world : {2, 4}) {
    const auto other = train(options, world);
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(other[i], one[i], 2e-3) << i;
  }
}

TEST(Training, MicroBatchesOfAShareAddUp) {
  Options options = small_run();
  const auto whole = train(options, 2);
  options.micro_batch = 2;
  const auto parts = train(options, 2);
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(parts[i], whole[i], 2e-3) << i;
}

TEST(Training, TimeLimitStopsAllRanksAtTheSameStep) {
  Options options = small_run();
  options.steps = 100'000'000;
  options.seconds = 0.2;
  train(options, 2);  // ends, and the ranks' parameters are equal
}

}  // namespace
}  // namespace gyre::train
