// A call in words, for errors about ranks that disagree.
#pragma once

#include <string>

#include "schedule/call.hpp"

namespace gyre {

// "AllReduce of 100 x float, sum (collective 7)"; the numbers are the low 16 bits that travel.
std::string describe(CallTag tag, CallStamp stamp);

}  // namespace gyre
