#include "tools/gyre/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gyre::tools {
namespace {

constexpr std::size_t kWidth = 30;
constexpr std::size_t kMostText = 44;

}  // namespace

ProgressBar::ProgressBar(std::size_t steps)
    : steps_(std::max<std::size_t>(1, steps)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (terminal_) fmt::print(stderr, "\r{:<{}}\r", "", kWidth + kMostText + 8);
}

void ProgressBar::step(std::string_view what) {
  const std::size_t done = std::min(begun_++, steps_);
  if (terminal_) {
    const std::size_t full = kWidth * done / steps_;
    fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:3}% {:<{}}", "", full, "", kWidth - full,
               100 * done / steps_, what.substr(0, kMostText), kMostText);
    return;
  }
  const std::size_t tenth = 10 * done / steps_;
  if (tenth == tenth_ && done != 0) return;
  tenth_ = tenth;
  fmt::print(stderr, "{:3}% {}\n", 10 * tenth, what);
}

}  // namespace gyre::tools
