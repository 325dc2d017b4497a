// Schedules as text, one line a step; ring all-reduce is five lines:
//
//   rank 1 of 4: 4 chunks in, 4 chunks out
//      1 x  send in[0] to 2
//      2 x  receive from 0, reduce with in[3-k], send to 2
//      1 x  receive from 0, reduce with in[1], finish, store in out[1], send to 2
//      2 x  receive from 0, store in out[0-k], send to 2
//      1 x  receive from 0, store in out[2]
//
// k is the trip; ranks and chunks are modulo the world and the chunks of their side. In rounds, d
// is the distance and m the chunks that move.
#pragma once

#include <string>

#include "schedule/step.hpp"

namespace gyre {

// The text of any program, malformed ones included.
std::string print(const Program& program);

}  // namespace gyre
