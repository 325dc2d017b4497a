// The vendors' runtimes are taken down by exit(), while the program's threads still run: who calls
// them then crashes. The emulated device makes sure of that.
#pragma once

namespace gyre::emulated {

// From now on, exit() takes the device down.
void watch_end();

// Ends the program, with the name of the call, if the device was taken down.
void expect_alive(const char* call) noexcept;

}  // namespace gyre::emulated
