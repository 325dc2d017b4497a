// Second processes of the tests: this program again, since CUDA does not survive fork().
#pragma once

#include <gyre/device.h>

#include <cstddef>
#include <string>
#include <vector>

namespace gyre::test {

// Runs this program with these arguments. Its exit status; 128 + signal; -1: it did not start.
int run_helper(const std::vector<std::string>& arguments);

std::string hex_of(const gyreIpcHandle& handle);

// What main() does with such arguments; -1: they are none of a helper.
int helper_main(const std::vector<std::string>& arguments);

// Imports both names (of the same memory, `offset` bytes apart), expects pattern(bytes, 1) at the
// first and leaves pattern(bytes, 2) there.
inline constexpr const char* kImport = "--import";
// Imports two names of different memory, and expects pattern(bytes, 1) and pattern(bytes, 2) there.
inline constexpr const char* kImportTwo = "--import-two";
// Works on device 1 alone, and looks whether that has touched device 0.
inline constexpr const char* kStayOff = "--stay-off-device-0";

}  // namespace gyre::test
