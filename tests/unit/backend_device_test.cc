#include <gtest/gtest.h>
#include <gyre/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/host_stream.hpp"
#include "backend/loader.hpp"

namespace {

class HostDevice : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device_), gyreSuccess); }
  void TearDown() override { EXPECT_EQ(gyreDeviceClose(device_), gyreSuccess); }
  gyreDevice_t device_ = nullptr;
};

TEST_F(HostDevice, TellsWhatItIs) {
  gyreDeviceInfo info{};
  EXPECT_EQ(gyreDeviceGetInfo(device_, &info), gyreErrorInvalidArgument);  // no size
  info.size = sizeof info;
  ASSERT_EQ(gyreDeviceGetInfo(device_, &info), gyreSuccess);
  EXPECT_EQ(info.kind, gyreDeviceHost);
  EXPECT_STREQ(info.name, "host");
  EXPECT_GT(info.memory_bytes, std::uint64_t{1} << 20);
  int count = 0;
  ASSERT_EQ(gyreDeviceCount(gyreDeviceHost, &count), gyreSuccess);
  EXPECT_EQ(count, 1);
}

TEST_F(HostDevice, MemoryIsAlignedAndWritable) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {
    void* pointer = nullptr;
    ASSERT_EQ(gyreDeviceAlloc(device_, bytes, &pointer), gyreSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0U);
    std::memset(pointer, 0x5a, bytes);
    EXPECT_EQ(gyreDeviceFree(device_, pointer), gyreSuccess);
  }
  void* none = &none;
  ASSERT_EQ(gyreDeviceAlloc(device_, 0, &none), gyreSuccess);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(gyreDeviceFree(device_, none), gyreSuccess);
}

TEST_F(HostDevice, MemoryThatIsNotThereIsAnError) {
  void* pointer = nullptr;
  EXPECT_EQ(gyreDeviceAlloc(device_, SIZE_MAX / 2, &pointer), gyreErrorOutOfMemory);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_NE(std::string(gyreDeviceLastError()).find("bytes"), std::string::npos);
}

TEST_F(HostDevice, CopiesAndFillsInStreamOrder) {
  gyreStream_t stream = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &stream), gyreSuccess);
  ASSERT_NE(stream, nullptr);
  std::vector<std::uint8_t> from(4096), to(4096);
  ASSERT_EQ(gyreDeviceFill(device_, from.data(), 7, from.size(), stream), gyreSuccess);
  ASSERT_EQ(gyreDeviceCopyAsync(device_, to.data(), from.data(), 4000, stream), gyreSuccess);
  ASSERT_EQ(gyreDeviceFill(device_, from.data(), 9, from.size(), stream), gyreSuccess);
  ASSERT_EQ(gyreStreamSynchronize(device_, stream), gyreSuccess);
  EXPECT_EQ(gyreStreamQuery(device_, stream), gyreSuccess);
  EXPECT_EQ(to[3999], 7);
  EXPECT_EQ(to[4000], 0);
  EXPECT_EQ(from[0], 9);
  EXPECT_EQ(gyreStreamDestroy(device_, stream), gyreSuccess);
}

// Whatever the failed work says of itself, the stream's caller made no mistake.
TEST_F(HostDevice, AStreamWhoseWorkFailedSaysSoToTheEnd) {
  gyreStream_t stream = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &stream), gyreSuccess);
  ASSERT_TRUE(gyre::HostStream::from(stream)->enqueue([]() -> gyre::Result<void> {
    return gyre::Error{gyre::Status::invalid_usage, "rank 3 called something else"};
  }));
  EXPECT_EQ(gyreStreamSynchronize(device_, stream), gyreErrorWork);
  EXPECT_EQ(gyreStreamQuery(device_, stream), gyreErrorWork);
  EXPECT_EQ(gyreStreamDestroy(device_, stream), gyreErrorWork);
  EXPECT_NE(std::string(gyreDeviceLastError()).find("rank 3"), std::string::npos);
}

TEST_F(HostDevice, AStreamCannotBeDestroyedTwice) {
  gyreStream_t stream = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &stream), gyreSuccess);
  const auto live = gyre::HostStream::release(gyre::HostStream::from(stream));
  ASSERT_TRUE(live);
  EXPECT_EQ(gyreStreamDestroy(device_, stream), gyreErrorInvalidArgument);
}

TEST_F(HostDevice, NullStreamWorksInsideTheCall) {
  std::vector<int> from = {1, 2, 3}, to(3);
  ASSERT_EQ(gyreDeviceCopyAsync(device_, to.data(), from.data(), 12, nullptr), gyreSuccess);
  EXPECT_EQ(to, from);
  EXPECT_EQ(gyreDeviceCopyAsync(device_, nullptr, nullptr, 0, nullptr), gyreSuccess);
  EXPECT_EQ(gyreStreamSynchronize(device_, nullptr), gyreSuccess);
}

TEST_F(HostDevice, EventsMeasureAndOrder) {
  gyreStream_t one = nullptr, two = nullptr;
  gyreEvent_t begin = nullptr, end = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &one), gyreSuccess);
  ASSERT_EQ(gyreStreamCreate(device_, &two), gyreSuccess);
  ASSERT_EQ(gyreEventCreate(device_, &begin), gyreSuccess);
  ASSERT_EQ(gyreEventCreate(device_, &end), gyreSuccess);
  float elapsed = -1;
  EXPECT_EQ(gyreEventElapsedMs(device_, begin, end, &elapsed), gyreErrorInvalidArgument);
  std::vector<std::uint8_t> data(1 << 20);
  ASSERT_EQ(gyreEventRecord(device_, begin, one), gyreSuccess);
  ASSERT_EQ(gyreDeviceFill(device_, data.data(), 1, data.size(), one), gyreSuccess);
  ASSERT_EQ(gyreEventRecord(device_, end, one), gyreSuccess);
  ASSERT_EQ(gyreStreamWaitEvent(device_, two, end), gyreSuccess);
  ASSERT_EQ(gyreDeviceFill(device_, data.data(), 2, data.size(), two), gyreSuccess);
  ASSERT_EQ(gyreDeviceSynchronize(device_), gyreSuccess);
  EXPECT_EQ(data.back(), 2);
  ASSERT_EQ(gyreEventQuery(device_, end), gyreSuccess);
  ASSERT_EQ(gyreEventElapsedMs(device_, begin, end, &elapsed), gyreSuccess);
  EXPECT_GE(elapsed, 0.0F);
  EXPECT_EQ(gyreEventSynchronize(device_, end), gyreSuccess);
  EXPECT_EQ(gyreEventDestroy(device_, begin), gyreSuccess);
  EXPECT_EQ(gyreEventDestroy(device_, end), gyreSuccess);
  EXPECT_EQ(gyreStreamDestroy(device_, one), gyreSuccess);
  EXPECT_EQ(gyreStreamDestroy(device_, two), gyreSuccess);
}

TEST_F(HostDevice, BadArgumentsAreNamed) {
  EXPECT_EQ(gyreDeviceAlloc(device_, 1, nullptr), gyreErrorInvalidArgument);
  EXPECT_EQ(gyreDeviceAlloc(nullptr, 1, reinterpret_cast<void**>(&device_)),
            gyreErrorInvalidArgument);
  EXPECT_NE(std::string(gyreDeviceLastError()).find("gyreDeviceAlloc"), std::string::npos);
  alignas(64) std::uint64_t foreign[64] = {};
  const auto stream = reinterpret_cast<gyreStream_t>(foreign);
  EXPECT_EQ(gyreStreamSynchronize(device_, stream), gyreErrorInvalidArgument);
  EXPECT_EQ(gyreEventRecord(device_, nullptr, nullptr), gyreErrorInvalidArgument);
}

TEST_F(HostDevice, IpcIsRefusedWithTheRemedy) {
  gyreIpcHandle handle{};
  int value = 0;
  EXPECT_EQ(gyreIpcExport(device_, &value, &handle), gyreErrorUnsupported);
  EXPECT_NE(std::string(gyreDeviceLastError()).find("ncclMemAlloc"), std::string::npos);
}

TEST_F(HostDevice, ForkedChildIsRefused) {
  gyreStream_t stream = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &stream), gyreSuccess);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::_exit(gyreStreamSynchronize(device_, stream) == gyreErrorForked ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(gyreStreamDestroy(device_, stream), gyreSuccess);
}

TEST(Device, KindsHaveOneSpelling) {
  for (const auto kind : {gyreDeviceAuto, gyreDeviceHost, gyreDeviceCuda, gyreDeviceHip}) {
    gyreDeviceKind parsed = gyreDeviceAuto;
    ASSERT_EQ(gyreDeviceKindParse(gyreDeviceKindName(kind), &parsed), gyreSuccess);
    EXPECT_EQ(parsed, kind);
  }
  gyreDeviceKind parsed = gyreDeviceAuto;
  EXPECT_EQ(gyreDeviceKindParse("gpu", &parsed), gyreErrorInvalidArgument);
  EXPECT_NE(std::string(gyreDeviceLastError()).find("gpu"), std::string::npos);
}

TEST(Device, NegativeOrdinalIsNoDevice) {
  gyreDevice_t device = nullptr;
  EXPECT_EQ(gyreDeviceOpen(gyreDeviceHost, -1, &device), gyreErrorNoDevice);
  EXPECT_EQ(device, nullptr);
}

TEST(Loader, MissingPluginSaysSo) {
  const auto table = gyre::load_plugin("/nonexistent/libgyre_hip.so", gyreDeviceHip);
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().text.find("hip back-end is not installed"), std::string::npos);
}

TEST(Loader, APluginThatIsThereButCannotBeLoadedSaysWhy) {
  // Beside the library that looks for it, which is this program here.
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto broken = self.parent_path() / "libgyre_hip.so";
  std::ofstream(broken) << "no library";
  const auto table = gyre::find_backend(gyreDeviceHip);
  std::filesystem::remove(broken);
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().text.find(broken.string()), std::string::npos) << table.error().text;
  EXPECT_EQ(table.error().text.find("not installed"), std::string::npos) << table.error().text;
}

TEST(Loader, TakesAGoodPlugin) {
  const auto table = gyre::load_plugin(FAKE_PLUGIN_GOOD, gyreDeviceCuda);
  ASSERT_TRUE(table) << table.error().text;
  int count = 0;
  ASSERT_EQ((*table)->device_count(&count), gyreSuccess);
  EXPECT_EQ(count, 2);
}

TEST(Loader, RefusesOtherVersionsKindsAndHoles) {
  EXPECT_EQ(gyre::load_plugin(FAKE_PLUGIN_GOOD, gyreDeviceHip).status(),
            gyre::Status::invalid_usage);
  EXPECT_EQ(gyre::load_plugin(FAKE_PLUGIN_OLD, gyreDeviceCuda).status(),
            gyre::Status::invalid_usage);
  EXPECT_EQ(gyre::load_plugin(FAKE_PLUGIN_HOLE, gyreDeviceCuda).status(),
            gyre::Status::invalid_usage);
}

// Only the host runs programs without kernels.
TEST(Loader, RefusesADeviceWithoutKernels) {
  const auto table = gyre::load_plugin(FAKE_PLUGIN_NO_LAUNCH, gyreDeviceCuda);
  EXPECT_EQ(table.status(), gyre::Status::invalid_usage);
  EXPECT_NE(table.error().text.find("not a complete back-end"), std::string::npos)
      << table.error().text;
}

}  // namespace
