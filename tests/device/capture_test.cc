// The table while streams are captured into graphs.
#include <functional>
#include <optional>
#include <thread>

#include "tests/device/device.hpp"
#include "tests/device/driver_graphs.hpp"

namespace gyre::test {
namespace {

class DeviceCapture : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    driver_.emplace();
    ASSERT_OK(table_->stream_create(0, &stream_));
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_OK(table_->stream_destroy(0, stream_));
    }
    DeviceTest::TearDown();
  }

  // Everything that init, registration and watching threads do meanwhile.
  void set_up_things() {
    void *device_memory = nullptr, *pinned = nullptr, *mapped = nullptr;
    gyreEvent_t event = nullptr;
    gyreStream_t stream = nullptr;
    std::uint64_t word = 7;
    static std::uint8_t page[8192] __attribute__((aligned(4096)));
    EXPECT_OK(table_->memory_alloc(0, 4096, &device_memory));
    EXPECT_OK(table_->host_alloc(0, 4096, &pinned));
    EXPECT_OK(table_->host_register(0, page, sizeof page, &mapped));
    EXPECT_OK(table_->copy(0, device_memory, &word, sizeof word));
    EXPECT_OK(table_->stream_create(0, &stream));
    EXPECT_OK(table_->event_create_untimed(0, &event));
    EXPECT_OK(table_->fill_async(0, device_memory, 1, 4096, stream));
    EXPECT_OK(table_->event_record(0, event, stream));
    EXPECT_OK(table_->event_synchronize(0, event));
    EXPECT_OK(table_->event_query(0, event));
    EXPECT_OK(table_->stream_synchronize(0, stream));
    EXPECT_OK(table_->stream_query(0, stream));
    EXPECT_OK(table_->load_kernels(0));
    gyreIpcHandle handle{};
    EXPECT_OK(table_->ipc_export(0, device_memory, &handle));
    gyrePointerInfo info{};
    info.size = sizeof info;
    EXPECT_OK(table_->pointer_info(0, device_memory, &info));
    EXPECT_OK(table_->event_destroy(0, event));
    EXPECT_OK(table_->stream_destroy(0, stream));
    EXPECT_OK(table_->host_unregister(0, page));
    EXPECT_OK(table_->host_free(0, pinned));
    EXPECT_OK(table_->memory_free(0, device_memory));
  }

  // Captures `work`, and runs the graph `runs` times.
  void capture_and_run(const std::function<void()>& work, int runs) {
    ASSERT_EQ(driver_->begin(stream_, DriverGraphs::global), 0);
    work();
    void *graph = nullptr, *run = nullptr;
    ASSERT_EQ(driver_->end(stream_, &graph), 0) << "the capture was broken";
    ASSERT_EQ(driver_->instantiate(&run, graph, 0), 0);
    for (int i = 0; i < runs; ++i) ASSERT_EQ(driver_->launch(run, stream_), 0);
    EXPECT_OK(table_->stream_synchronize(0, stream_));
    EXPECT_EQ(driver_->destroy_run(run), 0);
    EXPECT_EQ(driver_->destroy(graph), 0);
  }

  std::optional<DriverGraphs> driver_;
  gyreStream_t stream_ = nullptr;
};

TEST_F(DeviceCapture, IsNumberedAndSeen) {
  std::uint64_t before = 1, during = 0, again = 0, after = 1;
  ASSERT_OK(table_->stream_capture(0, stream_, &before));
  EXPECT_EQ(before, 0U);
  capture_and_run([&] { EXPECT_OK(table_->stream_capture(0, stream_, &during)); }, 0);
  capture_and_run([&] { EXPECT_OK(table_->stream_capture(0, stream_, &again)); }, 0);
  EXPECT_NE(during, 0U);
  EXPECT_NE(again, during);
  ASSERT_OK(table_->stream_capture(0, stream_, &after));
  EXPECT_EQ(after, 0U);
  ASSERT_OK(table_->stream_capture(0, nullptr, &after));
  EXPECT_EQ(after, 0U);
}

TEST_F(DeviceCapture, GoesOnWhileAnotherThreadSetsThingsUp) {
  Memory memory(*table_, 4096);
  capture_and_run(
      [&] {
        std::thread([&] { set_up_things(); }).join();
        EXPECT_OK(table_->fill_async(0, memory.get(), 5, 4096, stream_));
      },
      1);
  EXPECT_EQ(memory.read(4095, 1)[0], 5);
}

TEST_F(DeviceCapture, GoesOnWhileItsOwnThreadSetsThingsUp) {
  Memory memory(*table_, 4096);
  capture_and_run(
      [&] {
        set_up_things();
        EXPECT_OK(table_->fill_async(0, memory.get(), 6, 4096, stream_));
      },
      1);
  EXPECT_EQ(memory.read(4095, 1)[0], 6);
}

TEST_F(DeviceCapture, TakesMemoryForEachRun) {
  Memory result(*table_, 4096);
  capture_and_run(
      [&] {
        void* scratch = nullptr;
        EXPECT_OK(table_->memory_alloc_async(0, 4096, &scratch, stream_));
        EXPECT_NE(scratch, nullptr);
        EXPECT_OK(table_->fill_async(0, scratch, 9, 4096, stream_));
        EXPECT_OK(table_->copy_async(0, result.get(), scratch, 4096, stream_));
        EXPECT_OK(table_->memory_free_async(0, scratch, stream_));
      },
      3);
  EXPECT_EQ(result.read(4095, 1)[0], 9);
}

TEST_F(DeviceCapture, OfAnotherStreamOrdersByEvents) {
  Memory memory(*table_, 4096);
  gyreStream_t side = nullptr;
  gyreEvent_t off = nullptr, back = nullptr;
  ASSERT_OK(table_->stream_create(0, &side));
  ASSERT_OK(table_->event_create_untimed(0, &off));
  ASSERT_OK(table_->event_create_untimed(0, &back));
  std::uint64_t own = 0, other = 0;
  capture_and_run(
      [&] {
        EXPECT_OK(table_->event_record(0, off, stream_));
        EXPECT_OK(table_->stream_wait_event(0, side, off));
        EXPECT_OK(table_->stream_capture(0, stream_, &own));
        EXPECT_OK(table_->stream_capture(0, side, &other));
        EXPECT_OK(table_->fill_async(0, memory.get(), 3, 4096, side));
        EXPECT_OK(table_->event_record(0, back, side));
        EXPECT_OK(table_->stream_wait_event(0, stream_, back));
      },
      1);
  EXPECT_EQ(own, other);
  EXPECT_EQ(memory.read(0, 1)[0], 3);
  EXPECT_OK(table_->event_destroy(0, off));
  EXPECT_OK(table_->event_destroy(0, back));
  EXPECT_OK(table_->stream_destroy(0, side));
}

}  // namespace
}  // namespace gyre::test
