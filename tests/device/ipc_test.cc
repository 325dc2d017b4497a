// Device memory of one process in another.
#include <string>

#include "tests/device/device.hpp"
#include "tests/device/helper.hpp"

namespace gyre::test {
namespace {

class DeviceIpc : public DeviceTest {};

TEST_F(DeviceIpc, AnotherProcessReadsAndWritesWhatWasExported) {
  constexpr std::size_t kBytes = 100'000, kOffset = 4096 + 256;
  Memory memory(*table_, 1 << 20);
  const auto sent = pattern(kBytes, 1);
  ASSERT_OK(table_->copy(0, memory.get() + kOffset, sent.data(), kBytes));
  gyreIpcHandle inner{}, outer{};
  ASSERT_OK(table_->ipc_export(0, memory.get() + kOffset, &inner));
  ASSERT_OK(table_->ipc_export(0, memory.get(), &outer));
  EXPECT_EQ(run_helper({kImport, hex_of(inner), hex_of(outer), std::to_string(kOffset),
                        std::to_string(kBytes)}),
            0);
  EXPECT_EQ(memory.read(kOffset, kBytes), pattern(kBytes, 2));
}

// Small allocations may share a page of the device.
TEST_F(DeviceIpc, SmallNeighboursAreToldApart) {
  constexpr std::size_t kBytes = 1000;
  Memory one(*table_, kBytes), two(*table_, kBytes);
  one.write(pattern(kBytes, 1));
  two.write(pattern(kBytes, 2));
  gyreIpcHandle first{}, second{};
  ASSERT_OK(table_->ipc_export(0, one.get(), &first));
  ASSERT_OK(table_->ipc_export(0, two.get(), &second));
  EXPECT_EQ(run_helper({kImportTwo, hex_of(first), hex_of(second), "0", std::to_string(kBytes)}),
            0);
}

TEST_F(DeviceIpc, OwnMemoryIsImportedWhereItIs) {
  Memory memory(*table_, 4096);
  gyreIpcHandle handle{};
  ASSERT_OK(table_->ipc_export(0, memory.get() + 512, &handle));
  void* pointer = nullptr;
  ASSERT_OK(table_->ipc_import(0, &handle, &pointer));
  EXPECT_EQ(pointer, memory.get() + 512);
  EXPECT_OK(table_->ipc_close(0, pointer));
  EXPECT_EQ(table_->ipc_close(0, pointer), gyreErrorInvalidArgument);
}

TEST_F(DeviceIpc, WhatCannotBeSharedIsRefusedWithTheRemedy) {
  void* pinned = nullptr;
  ASSERT_OK(table_->host_alloc(0, 4096, &pinned));
  gyreIpcHandle handle{};
  EXPECT_EQ(table_->ipc_export(0, pinned, &handle), gyreErrorUnsupported);
  EXPECT_NE(std::string(table_->last_error()).find("ncclMemAlloc"), std::string::npos)
      << table_->last_error();
  EXPECT_OK(table_->host_free(0, pinned));
}

TEST_F(DeviceIpc, OtherBytesAreNoHandle) {
  gyreIpcHandle handle{};
  void* pointer = &handle;
  EXPECT_EQ(table_->ipc_import(0, &handle, &pointer), gyreErrorInvalidArgument);
  EXPECT_EQ(pointer, nullptr);
}

}  // namespace
}  // namespace gyre::test
