// The small device runtime and the back-end's table on a real device.
#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "gyre/plugin.h"
#include "tests/device/device.hpp"
#include "tests/device/helper.hpp"

namespace gyre::test {
namespace {

// Enough bytes that filling them takes the device a while.
constexpr std::size_t kMuch = std::size_t{256} << 20;

class DeviceBackend : public DeviceTest {
 protected:
  gyrePointerInfo info_of(const void* pointer) {
    gyrePointerInfo info{};
    info.size = sizeof info;
    EXPECT_OK(table_->pointer_info(0, pointer, &info));
    return info;
  }
  bool said(const std::string& word) const {
    return std::string(table_->last_error()).find(word) != std::string::npos;
  }
};

TEST_F(DeviceBackend, TellsWhatItIs) {
  gyreDeviceInfo info{};
  info.size = sizeof info;
  ASSERT_EQ(gyreDeviceGetInfo(device_, &info), gyreSuccess) << gyreDeviceLastError();
  EXPECT_EQ(info.kind, gyreDeviceCuda);
  EXPECT_EQ(info.ordinal, 0);
  EXPECT_GT(info.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_GT(std::strlen(info.name), 0U);
  std::vector<std::vector<unsigned char>> identities;
  for (int ordinal = 0; ordinal < devices(); ++ordinal) {
    std::vector<unsigned char> identity(16);
    ASSERT_OK(table_->device_identity(ordinal, identity.data()));
    EXPECT_NE(identity, std::vector<unsigned char>(16));
    EXPECT_EQ(std::count(identities.begin(), identities.end(), identity), 0);
    identities.push_back(identity);
  }
}

TEST_F(DeviceBackend, OrdinalsBeyondTheLastAreNoDevice) {
  gyreDevice_t device = nullptr;
  EXPECT_EQ(gyreDeviceOpen(gyreDeviceCuda, devices(), &device), gyreErrorNoDevice);
  EXPECT_EQ(device, nullptr);
  for (const int ordinal : {-1, devices(), 63, 64, 1000}) {
    void* pointer = nullptr;
    EXPECT_EQ(table_->memory_alloc(ordinal, 64, &pointer), gyreErrorNoDevice) << ordinal;
    EXPECT_EQ(table_->device_select(ordinal), gyreErrorNoDevice) << ordinal;
  }
  // The failures left nothing behind.
  EXPECT_OK(table_->device_synchronize(0));
}

TEST_F(DeviceBackend, MemoryIsAlignedAndKeepsBytes) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {
    Memory memory(*table_, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0U);
    const auto data = pattern(bytes, 3);
    memory.write(data);
    EXPECT_EQ(memory.read(0, bytes), data);
  }
  void* none = &none;
  ASSERT_OK(table_->memory_alloc(0, 0, &none));
  EXPECT_EQ(none, nullptr);
  EXPECT_OK(table_->memory_free(0, none));
}

TEST_F(DeviceBackend, MemoryThatIsNotThereIsAnErrorWithNumbers) {
  gyreDeviceInfo info{};
  info.size = sizeof info;
  ASSERT_OK(table_->device_info(0, &info));
  const std::size_t much = info.memory_bytes * 4;
  void* pointer = &pointer;
  EXPECT_EQ(table_->memory_alloc(0, much, &pointer), gyreErrorOutOfMemory);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_TRUE(said("cudaMalloc") && said("CUDA device 0") && said(std::to_string(much)))
      << table_->last_error();
  EXPECT_EQ(table_->memory_alloc_async(0, much, &pointer, nullptr), gyreErrorOutOfMemory);
  EXPECT_EQ(gyreDeviceAlloc(device_, much, &pointer), gyreErrorOutOfMemory);
  EXPECT_NE(std::string(gyreDeviceLastError()).find("are free"), std::string::npos)
      << gyreDeviceLastError();
  Memory afterwards(*table_, 1024);
}

TEST_F(DeviceBackend, ErrorTextsBelongToTheirThread) {
  void* pointer = nullptr;
  EXPECT_EQ(table_->memory_alloc(1000, 64, &pointer), gyreErrorNoDevice);
  const std::string here = table_->last_error();
  std::thread([&] {
    EXPECT_STREQ(table_->last_error(), "");
    std::uint32_t blocks = 0;
    EXPECT_EQ(table_->resident_blocks(0, 1000, 512, &blocks), gyreErrorInvalidArgument);
  }).join();
  EXPECT_EQ(table_->last_error(), here);
}

TEST_F(DeviceBackend, BadHandlesAreNamed) {
  EXPECT_EQ(table_->event_record(0, nullptr, nullptr), gyreErrorInvalidArgument);
  EXPECT_TRUE(said("cudaEventRecord")) << table_->last_error();
  int variable = 0;
  EXPECT_NE(table_->memory_free(0, &variable), gyreSuccess);
  EXPECT_TRUE(said("cudaFree")) << table_->last_error();
}

TEST_F(DeviceBackend, CopiesAndFillsInStreamOrder) {
  gyreStream_t stream = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &stream), gyreSuccess) << gyreDeviceLastError();
  Memory one(*table_, 1 << 20), two(*table_, 1 << 20);
  void* pinned = nullptr;
  ASSERT_EQ(gyreHostAlloc(device_, 1 << 20, &pinned), gyreSuccess) << gyreDeviceLastError();
  std::memset(pinned, 4, 1 << 20);
  EXPECT_EQ(gyreDeviceFill(device_, one.get(), 7, 1 << 20, stream), gyreSuccess);
  EXPECT_EQ(gyreDeviceCopyAsync(device_, two.get(), one.get(), 1 << 20, stream), gyreSuccess);
  EXPECT_EQ(gyreDeviceFill(device_, one.get(), 9, 1 << 20, stream), gyreSuccess);
  EXPECT_EQ(gyreDeviceCopyAsync(device_, two.get() + 10, pinned, 10, stream), gyreSuccess);
  EXPECT_EQ(gyreDeviceCopyAsync(device_, pinned, two.get(), 1000, stream), gyreSuccess);
  ASSERT_EQ(gyreStreamSynchronize(device_, stream), gyreSuccess) << gyreDeviceLastError();
  EXPECT_EQ(gyreStreamQuery(device_, stream), gyreSuccess);
  const auto* seen = static_cast<std::uint8_t*>(pinned);
  EXPECT_EQ(seen[9], 7);
  EXPECT_EQ(seen[19], 4);
  EXPECT_EQ(seen[999], 7);
  EXPECT_EQ(seen[1000], 4);
  EXPECT_EQ(one.read(0, 1)[0], 9);
  EXPECT_EQ(gyreHostFree(device_, pinned), gyreSuccess);
  EXPECT_EQ(gyreStreamDestroy(device_, stream), gyreSuccess);
}

TEST_F(DeviceBackend, NullAndSpecialStreamsWork) {
  Memory memory(*table_, 4096);
  for (const std::uintptr_t special : {0U, 1U, 2U}) {
    const auto stream = reinterpret_cast<gyreStream_t>(special);
    EXPECT_OK(table_->fill_async(0, memory.get(), static_cast<int>(special + 1), 4096, stream));
    EXPECT_OK(table_->stream_synchronize(0, stream));
    EXPECT_EQ(memory.read(4095, 1)[0], special + 1);
    EXPECT_OK(table_->stream_destroy(0, stream));
  }
}

// The copy of a set-up thread must not wait for what somebody's kernels wait for.
TEST_F(DeviceBackend, ACopyWaitsForNoStream) {
  gyreStream_t stream = nullptr;
  ASSERT_OK(table_->stream_create(0, &stream));
  Memory much(*table_, kMuch), little(*table_, 64);
  for (const gyreStream_t busy : {stream, gyreStream_t{}}) {
    for (int i = 0; i < 500; ++i) EXPECT_OK(table_->fill_async(0, much.get(), i, kMuch, busy));
    little.write(pattern(64, 5));
    EXPECT_EQ(little.read(0, 64), pattern(64, 5));
    EXPECT_EQ(table_->stream_query(0, busy), gyreErrorNotReady);
    EXPECT_OK(table_->stream_synchronize(0, busy));
    EXPECT_OK(table_->stream_query(0, busy));
  }
  EXPECT_OK(table_->stream_destroy(0, stream));
}

TEST_F(DeviceBackend, EventsMeasureAndOrder) {
  gyreStream_t one = nullptr, two = nullptr;
  gyreEvent_t begin = nullptr, end = nullptr;
  ASSERT_EQ(gyreStreamCreate(device_, &one), gyreSuccess);
  ASSERT_EQ(gyreStreamCreate(device_, &two), gyreSuccess);
  ASSERT_EQ(gyreEventCreate(device_, &begin), gyreSuccess);
  ASSERT_EQ(gyreEventCreate(device_, &end), gyreSuccess);
  float elapsed = -1;
  EXPECT_EQ(gyreEventElapsedMs(device_, begin, end, &elapsed), gyreErrorInvalidArgument);
  EXPECT_EQ(gyreEventSynchronize(device_, end), gyreSuccess);  // never recorded
  Memory much(*table_, kMuch);
  EXPECT_EQ(gyreEventRecord(device_, begin, one), gyreSuccess);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(gyreDeviceFill(device_, much.get(), 1, kMuch, one), gyreSuccess);
  }
  EXPECT_EQ(gyreEventRecord(device_, end, one), gyreSuccess);
  EXPECT_EQ(gyreEventQuery(device_, end), gyreErrorNotReady);
  EXPECT_EQ(gyreEventElapsedMs(device_, begin, end, &elapsed), gyreErrorNotReady);
  EXPECT_EQ(gyreStreamWaitEvent(device_, two, end), gyreSuccess);
  EXPECT_EQ(gyreDeviceFill(device_, much.get(), 2, kMuch, two), gyreSuccess);
  EXPECT_EQ(gyreDeviceSynchronize(device_), gyreSuccess);
  EXPECT_EQ(much.read(kMuch - 1, 1)[0], 2);
  EXPECT_EQ(gyreEventQuery(device_, end), gyreSuccess);
  EXPECT_EQ(gyreEventElapsedMs(device_, begin, end, &elapsed), gyreSuccess);
  EXPECT_GT(elapsed, 0.0F);
  for (const auto event : {begin, end}) EXPECT_EQ(gyreEventDestroy(device_, event), gyreSuccess);
  for (const auto stream : {one, two}) EXPECT_EQ(gyreStreamDestroy(device_, stream), gyreSuccess);
}

TEST_F(DeviceBackend, UntimedEventsHaveNoTime) {
  gyreEvent_t begin = nullptr, end = nullptr;
  ASSERT_OK(table_->event_create_untimed(0, &begin));
  ASSERT_OK(table_->event_create_untimed(0, &end));
  EXPECT_OK(table_->event_record(0, begin, nullptr));
  EXPECT_OK(table_->event_record(0, end, nullptr));
  EXPECT_OK(table_->event_synchronize(0, end));
  float elapsed = 0;
  EXPECT_EQ(table_->event_elapsed_ms(0, begin, end, &elapsed), gyreErrorInvalidArgument);
  EXPECT_OK(table_->event_destroy(0, begin));
  EXPECT_OK(table_->event_destroy(0, end));
}

// A destroyed stream has done its work.
TEST_F(DeviceBackend, DestroyingAStreamCompletesIt) {
  gyreStream_t stream = nullptr;
  ASSERT_OK(table_->stream_create(0, &stream));
  Memory much(*table_, kMuch);
  for (int i = 0; i < 100; ++i) EXPECT_OK(table_->fill_async(0, much.get(), i, kMuch, stream));
  ASSERT_OK(table_->stream_destroy(0, stream));
  EXPECT_EQ(much.read(kMuch - 1, 1)[0], 99);
}

TEST_F(DeviceBackend, PointersTellWhatTheyPointTo) {
  int variable = 0;
  EXPECT_EQ(info_of(&variable).kind, gyrePointerUnknown);
  EXPECT_EQ(info_of(nullptr).kind, gyrePointerUnknown);

  void* pinned = nullptr;
  ASSERT_OK(table_->host_alloc(0, 10'000, &pinned));
  const auto host = info_of(static_cast<char*>(pinned) + 100);
  EXPECT_EQ(host.kind, gyrePointerHost);
  EXPECT_OK(table_->host_free(0, pinned));
  EXPECT_EQ(info_of(pinned).kind, gyrePointerUnknown);

  std::uint64_t allocation = 0;
  {
    Memory memory(*table_, 3 << 20);
    const auto device = info_of(memory.get() + 5000);
    EXPECT_EQ(device.kind, gyrePointerDevice);
    EXPECT_EQ(device.ordinal, 0);
    EXPECT_EQ(device.base, memory.get());
    EXPECT_GE(device.bytes, std::size_t{3} << 20);
    EXPECT_NE(device.allocation, 0U);
    EXPECT_EQ(info_of(memory.get()).allocation, device.allocation);
    allocation = device.allocation;
  }
  // Very likely at the same address, but another allocation.
  Memory next(*table_, 3 << 20);
  EXPECT_NE(info_of(next.get()).allocation, allocation);
}

TEST_F(DeviceBackend, RegisteredHostMemoryIsReached) {
  constexpr std::size_t kBytes = 64 << 10;
  alignas(4096) static std::uint8_t memory[kBytes];
  void *first = nullptr, *second = nullptr;
  ASSERT_OK(table_->host_register(0, memory, kBytes, &first));
  ASSERT_OK(table_->host_register(devices() - 1, memory, kBytes, &second));
  EXPECT_EQ(info_of(memory).kind, gyrePointerHost);
  EXPECT_OK(table_->fill_async(0, first, 8, kBytes, nullptr));
  EXPECT_OK(table_->stream_synchronize(0, nullptr));
  EXPECT_EQ(memory[kBytes - 1], 8);
  EXPECT_OK(table_->host_unregister(0, memory));
  EXPECT_EQ(info_of(memory).kind, gyrePointerHost);  // the other one still needs it
  EXPECT_OK(table_->host_unregister(devices() - 1, memory));
  EXPECT_EQ(info_of(memory).kind, gyrePointerUnknown);
  EXPECT_EQ(table_->host_unregister(0, memory), gyreErrorInvalidArgument);
}

TEST_F(DeviceBackend, MemoryComesAndGoesInStreamOrder) {
  gyreStream_t stream = nullptr;
  ASSERT_OK(table_->stream_create(0, &stream));
  Memory result(*table_, 4096);
  for (int i = 1; i <= 3; ++i) {
    void* scratch = nullptr;
    ASSERT_OK(table_->memory_alloc_async(0, 1 << 20, &scratch, stream));
    EXPECT_OK(table_->fill_async(0, scratch, i, 1 << 20, stream));
    EXPECT_OK(table_->copy_async(0, result.get(), scratch, 4096, stream));
    EXPECT_OK(table_->memory_free_async(0, scratch, stream));
  }
  EXPECT_OK(table_->stream_synchronize(0, stream));
  EXPECT_EQ(result.read(4095, 1)[0], 3);
  EXPECT_OK(table_->stream_destroy(0, stream));
}

TEST_F(DeviceBackend, KernelsAreThere) {
  ASSERT_OK(table_->load_kernels(0));
  std::uint32_t blocks = 0;
  ASSERT_OK(table_->resident_blocks(0, 0, 512, &blocks));
  EXPECT_GE(blocks, 1U);
  EXPECT_EQ(table_->resident_blocks(0, 1000, 512, &blocks), gyreErrorInvalidArgument);
  const gyreLaunch launch{sizeof(gyreLaunch), 0, 1, 32, 0, &blocks, sizeof blocks};
  EXPECT_EQ(table_->launch(0, &launch, nullptr), gyreErrorInvalidArgument);
  EXPECT_TRUE(said("same sources")) << table_->last_error();
}

TEST_F(DeviceBackend, OtherDevicesAreUsedWithoutBecomingCurrent) {
  if (devices() < 2) GTEST_SKIP() << "there is one device";
  int current = -1;
  Memory memory(*table_, 1 << 20, 1);
  memory.write(pattern(1 << 20, 4));
  EXPECT_OK(table_->device_current(&current));
  EXPECT_EQ(current, 0);
  EXPECT_EQ(info_of(memory.get()).ordinal, 1);
  Memory own(*table_, 1 << 20);
  EXPECT_OK(table_->copy(0, own.get(), memory.get(), 1 << 20));
  EXPECT_EQ(own.read(0, 1 << 20), pattern(1 << 20, 4));
  EXPECT_OK(table_->device_select(1));
  EXPECT_OK(table_->device_current(&current));
  EXPECT_EQ(current, 1);
  EXPECT_OK(table_->device_select(0));
}

TEST_F(DeviceBackend, ADeviceThatNobodyAskedForIsLeftAlone) {
  if (devices() < 2) GTEST_SKIP() << "there is one device";
  EXPECT_EQ(run_helper({kStayOff}), 0);
}

TEST_F(DeviceBackend, PeersAreReachedOrRefused) {
  EXPECT_OK(table_->peer_access(0, 0));
  if (devices() < 2) GTEST_SKIP() << "there is one device";
  const gyreResult first = table_->peer_access(0, 1);
  EXPECT_TRUE(first == gyreSuccess || first == gyreErrorUnsupported) << table_->last_error();
  EXPECT_EQ(table_->peer_access(0, 1), first);
}

}  // namespace
}  // namespace gyre::test
