// What kernels find around them: a block is one thread of the operating system, and its threads
// take turns there. One goes on until it waits, for the others of its block or its warp or, in a
// loop, for somebody else's memory; which one is next is drawn, so that a barrier that is missing
// shows.
#pragma once

#include <cstdint>

namespace gyre::emulated {

struct Index {
  std::uint32_t x = 0;
};
// Of the one at work on this thread.
extern constinit thread_local Index threadIdx;
extern constinit thread_local Index blockIdx;
extern constinit thread_local Index blockDim;

// Until all threads of the block, or of the warp, wait there or are done. Ends the process if they
// wait in different places for ever.
void wait_for_block();
void wait_for_warp();
// In a loop that waits.
void let_others_run();

// Runs all threads of one block: each calls body(argument).
void run_block(void (*body)(const void*), const void* argument, std::uint32_t block);

}  // namespace gyre::emulated
