// What tests on a real device share: the device or the reason why there is none, memory and bytes.
#pragma once

#include <gtest/gtest.h>
#include <gyre/device.h>
#include <gyre/plugin.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gyre::test {

// Device 0 and its back-end's table. Skipped, with the loader's words, where no CUDA device
// answers.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  int devices() const;

  gyreDevice_t device_ = nullptr;
  const gyreBackend* table_ = nullptr;
};

// Device memory of one test.
class Memory {
 public:
  Memory(const gyreBackend& table, std::size_t bytes, int ordinal = 0);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  std::uint8_t* get() const { return static_cast<std::uint8_t*>(pointer_); }
  void write(const std::vector<std::uint8_t>& bytes);
  std::vector<std::uint8_t> read(std::size_t offset, std::size_t bytes) const;

 private:
  const gyreBackend& table_;
  int ordinal_;
  void* pointer_ = nullptr;
};

// Bytes that differ from their neighbours and between seeds.
std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed);

// An expectation about a call of the table, with its error text.
#define EXPECT_OK(call) EXPECT_EQ(call, gyreSuccess) << table_->last_error()
#define ASSERT_OK(call) ASSERT_EQ(call, gyreSuccess) << table_->last_error()

}  // namespace gyre::test
