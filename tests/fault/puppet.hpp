// The child side of the fault tests: one rank in a process of its own that does what its parent
// says, one line at a time, and reports how it went.
//
// A command is "TAG VERB ARGUMENTS"; with "&VERB" it runs on a thread of its own, so that a later
// command can meet it. A report is "TAG CODE TOOK_US AT_NS TEXT": CODE an ncclResult_t or kWrong,
// TOOK_US the command's duration, AT_NS its end on the machine's monotonic clock.
#pragma once

namespace gyre::test {

inline constexpr int kCommandsFd = 3;
inline constexpr int kReportsFd = 4;
// A call that succeeded with a wrong result, or a step of the test itself that failed.
inline constexpr int kWrong = 100;

// Runs commands until their pipe ends.
int puppet_main(int rank, int world);

}  // namespace gyre::test
