// Runs the blocks of a kernel side by side.
#pragma once

#include <cstdint>

namespace gyre::emulated {

// Runs body(argument) for all threads of `blocks` blocks, on as many threads of the operating
// system, one of which is the caller; returns when all are done. Never waits for another grid:
// blocks of several may wait for each other.
void run_grid(void (*body)(const void*), const void* argument, std::uint32_t blocks);

}  // namespace gyre::emulated
