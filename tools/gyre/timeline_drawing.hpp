// Space-time diagrams of simulated calls as SVG text: a row for each rank, boxes for its steps, and
// arrows for messages.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "simulate/timeline.hpp"

namespace gyre::tools {

// The timeline must have been recorded. Rows get lower with more ranks; arrows are left out where
// there are too many to be seen. Error: too many steps for a picture.
Result<std::string> draw_timeline(const sim::Timeline& timeline, const std::string& title,
                                  const std::string& remark);

// About `count` round times from 0 to `last`, for an axis.
std::vector<double> time_ticks(double last, int count);

}  // namespace gyre::tools
