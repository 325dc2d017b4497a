// Calls of ranks on a device that are captured into graphs: on a real one, since the emulated
// device has no graphs.
#include <cstring>

#include "tests/collective/device_ranks.hpp"
#include "tests/device/driver_graphs.hpp"

namespace gyre::test {
namespace {

bool has_graphs() {
  gyreDeviceInfo info{};
  info.size = sizeof info;
  return gyreDeviceGetInfo(rank_device(), &info) == gyreSuccess && info.kind == gyreDeviceCuda &&
         std::strcmp(info.name, "emulated") != 0;
}

gyreStream_t handle_of(cudaStream_t stream) { return reinterpret_cast<gyreStream_t>(stream); }

// A graph, from its capture to its end.
class Graph {
 public:
  Graph(const DriverGraphs& driver, cudaStream_t stream, const std::function<void()>& calls)
      : driver_(driver), stream_(stream) {
    EXPECT_EQ(driver_.begin(handle_of(stream_), DriverGraphs::thread_local_), 0);
    calls();
    EXPECT_EQ(driver_.end(handle_of(stream_), &graph_), 0) << "the capture was broken";
    EXPECT_EQ(driver_.instantiate(&run_, graph_, 0), 0);
  }
  ~Graph() {
    EXPECT_EQ(driver_.destroy_run(run_), 0);
    EXPECT_EQ(driver_.destroy(graph_), 0);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() const { EXPECT_EQ(driver_.launch(run_, handle_of(stream_)), 0); }

 private:
  const DriverGraphs& driver_;
  cudaStream_t stream_;
  void* graph_ = nullptr;
  void* run_ = nullptr;
};

class DeviceGraph : public testing::TestWithParam<std::size_t> {};

// Three calls a graph, on data that the plain call before has left, and again.
TEST_P(DeviceGraph, RunsItsCallsAgain) {
  GYRE_NEEDS_DEVICE();
  if (!has_graphs()) GTEST_SKIP() << "the device has no graphs";
  const DriverGraphs driver;
  with_device_ranks(2, [&](const DeviceRankUnderTest& one) {
    // The driver's calls are about the thread's context.
    ASSERT_EQ(gyreDeviceSelect(rank_device()), gyreSuccess);
    const std::size_t count = GetParam();
    DeviceArray<double> data(count, 1.0);
    const auto call = [&] {
      EXPECT_TRUE(ok(ncclAllReduce(data.data(), data.data(), count, ncclFloat64, ncclSum, one.comm,
                                   one.stream)));
    };
    call();
    EXPECT_TRUE(done(one.stream));
    {
      const Graph graph(driver, one.stream, [&] {
        for (int i = 0; i < 3; ++i) call();
      });
      for (int i = 0; i < 4; ++i) graph.launch();
      EXPECT_TRUE(done(one.stream));
    }
    call();
    EXPECT_TRUE(done(one.stream));
    EXPECT_EQ(data.read(), std::vector<double>(count, 16384.0));
  });
}
INSTANTIATE_TEST_SUITE_P(Counts, DeviceGraph, testing::Values(1, 1000, 300'007),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace gyre::test
