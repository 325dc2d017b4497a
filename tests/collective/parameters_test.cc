// ncclParam*: what the library goes by, as text and as numbers.
#include <cstring>

#include "tests/collective/forked.hpp"

namespace gyre::test {
namespace {

// Exit status of a child with this environment.
int status_with(const Environment& environment, const std::function<bool()>& body) {
  return status_of(in_child([&] {
    apply(environment);
    return body() ? 0 : complain("not so");
  }));
}

ncclParamHandle_t bound(const char* key) {
  ncclParamHandle_t handle = nullptr;
  return ncclParamBind(&handle, key) == ncclSuccess ? handle : nullptr;
}

bool is_number(const char* key, std::int64_t wanted) {
  std::int64_t value = -1;
  return ncclParamGetI64(bound(key), &value) == ncclSuccess && value == wanted;
}

bool is_no_number(const char* key) {
  std::int64_t value = -1;
  return ncclParamGetI64(bound(key), &value) == ncclInvalidArgument && value == -1;
}

bool is_text(const char* key, const char* wanted) {
  const char* value = nullptr;
  const char* by_key = nullptr;
  int length = -1;
  return ncclParamGetStr(bound(key), &value) == ncclSuccess && std::strcmp(value, wanted) == 0 &&
         ncclParamGetParameter(key, &by_key, &length) == ncclSuccess &&
         std::strcmp(by_key, wanted) == 0 && length == static_cast<int>(std::strlen(wanted));
}

TEST(Parameters, DefaultsWithUnitsAreNumbers) {
  EXPECT_EQ(status_with({},
                        [] {
                          ::unsetenv("GYRE_DEVICE");  // CTest gives it to every test
                          return is_number("GYRE_SLOT_BYTES", 128 << 10) &&
                                 is_number("GYRE_SLOTS", 4) &&
                                 is_number("GYRE_INIT_TIMEOUT", 120) &&
                                 is_number("NCCL_P2P_DISABLE", 0) && is_no_number("GYRE_DEVICE") &&
                                 is_no_number("NCCL_COMM_BLOCKING") &&
                                 is_text("GYRE_SLOT_BYTES", "128K") &&
                                 is_text("GYRE_DEVICE", "auto") && is_text("NCCL_ALGO", "");
                        }),
            0);
}

TEST(Parameters, ValuesThatWereGivenAreWorkedOut) {
  EXPECT_EQ(status_with({{"GYRE_SLOT_BYTES", "1MiB"},
                         {"GYRE_TIMEOUT", "1500ms"},
                         {"GYRE_INIT_TIMEOUT", "2.0s"},
                         {"NCCL_COMM_BLOCKING", "1"},
                         {"GYRE_CMA", "1"},
                         {"GYRE_SPIN", "0x10"},
                         {"NCCL_DEBUG", "VERSION"}},
                        [] {
                          return is_number("GYRE_SLOT_BYTES", 1 << 20) &&
                                 is_no_number("GYRE_TIMEOUT") && is_text("GYRE_TIMEOUT", "1.5") &&
                                 is_number("GYRE_INIT_TIMEOUT", 2) &&
                                 is_number("NCCL_COMM_BLOCKING", 1) && is_number("GYRE_CMA", 1) &&
                                 is_number("GYRE_SPIN", 16) && is_text("NCCL_DEBUG", "VERSION");
                        }),
            0);
}

TEST(Parameters, AreThoseThatTheLibraryReadAndNotTheEnvironmentsOfNow) {
  EXPECT_EQ(status_with({{"GYRE_SLOTS", "8"}},
                        [] {
                          if (!is_number("GYRE_SLOTS", 8)) return false;
                          apply({{"GYRE_SLOTS", "16"}});
                          return is_number("GYRE_SLOTS", 8) && is_text("GYRE_SLOTS", "8");
                        }),
            0);
}

TEST(Parameters, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(status_with({},
                        [] {
                          const ncclParamHandle_t slot = bound("GYRE_SLOT_BYTES");
                          std::int8_t i8 = -1;
                          std::uint16_t u16 = 7;
                          std::uint32_t u32 = 0;
                          return ncclParamGetI8(slot, &i8) == ncclInvalidArgument && i8 == -1 &&
                                 ncclParamGetU16(slot, &u16) == ncclInvalidArgument && u16 == 7 &&
                                 ncclParamGetU32(slot, &u32) == ncclSuccess && u32 == 128 << 10 &&
                                 bound("GYRE_NO_SUCH_THING") == nullptr;
                        }),
            0);
}

TEST(Parameters, OfABadEnvironmentThereAreNone) {
  EXPECT_EQ(status_with({{"GYRE_SLOTS", "many"}},
                        [] {
                          const char* text = nullptr;
                          return is_no_number("GYRE_SLOTS") &&
                                 ncclParamGetStr(bound("GYRE_SPIN"), &text) == ncclInvalidArgument;
                        }),
            0);
}

}  // namespace
}  // namespace gyre::test
