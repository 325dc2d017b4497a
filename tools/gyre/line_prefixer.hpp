// Cuts one rank's output into whole lines and puts "[rank] " before each.
#pragma once

#include <string>
#include <string_view>

namespace gyre::tools {

class LinePrefixer {
 public:
  // A line longer than this is passed on in pieces, so that a program that never ends its line
  // cannot fill the launcher's memory.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  // Takes what the rank wrote; returns the lines that are now complete.
  std::string feed(std::string_view bytes);
  // The rank writes no more: the unfinished line, ended, if there is one.
  std::string finish();

 private:
  std::string prefix_;
  std::string unfinished_;
};

}  // namespace gyre::tools
