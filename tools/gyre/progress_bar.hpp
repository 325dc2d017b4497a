// How far a long command has come, on standard error: a bar on a terminal, else a line per tenth.
#pragma once

#include <cstddef>
#include <string_view>

namespace gyre::tools {

class ProgressBar {
 public:
  explicit ProgressBar(std::size_t steps);
  ~ProgressBar();  // leaves the cursor at the start of a free line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // One more step is about to be taken.
  void step(std::string_view what);

 private:
  const std::size_t steps_;
  const bool terminal_;
  std::size_t begun_ = 0;
  std::size_t tenth_ = 0;
};

}  // namespace gyre::tools
