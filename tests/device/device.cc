#include "tests/device/device.hpp"

#include "backend/loader.hpp"

namespace gyre::test {

void DeviceTest::SetUp() {
  static const auto found = find_backend(gyreDeviceCuda);
  if (!found) GTEST_SKIP() << found.error().text;
  table_ = *found;
  ASSERT_EQ(gyreDeviceOpen(gyreDeviceCuda, 0, &device_), gyreSuccess) << gyreDeviceLastError();
}

void DeviceTest::TearDown() { EXPECT_EQ(gyreDeviceClose(device_), gyreSuccess); }

int DeviceTest::devices() const {
  int count = 0;
  EXPECT_OK(table_->device_count(&count));
  return count;
}

Memory::Memory(const gyreBackend& table, std::size_t bytes, int ordinal)
    : table_(table), ordinal_(ordinal) {
  EXPECT_EQ(table_.memory_alloc(ordinal_, bytes, &pointer_), gyreSuccess) << table_.last_error();
}

Memory::~Memory() {
  EXPECT_EQ(table_.memory_free(ordinal_, pointer_), gyreSuccess) << table_.last_error();
}

void Memory::write(const std::vector<std::uint8_t>& bytes) {
  EXPECT_EQ(table_.copy(ordinal_, pointer_, bytes.data(), bytes.size()), gyreSuccess)
      << table_.last_error();
}

std::vector<std::uint8_t> Memory::read(std::size_t offset, std::size_t bytes) const {
  std::vector<std::uint8_t> result(bytes);
  EXPECT_EQ(table_.copy(ordinal_, result.data(), get() + offset, bytes), gyreSuccess)
      << table_.last_error();
  return result;
}

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::uint8_t> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    result[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + seed);
  }
  return result;
}

}  // namespace gyre::test
