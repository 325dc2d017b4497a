#include "tools/gyre/line_prefixer.hpp"

#include <utility>

namespace gyre::tools {

std::string LinePrefixer::feed(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t room = kLongestLine - unfinished_.size();
    const std::string_view piece = bytes.substr(0, std::min(end, room));
    unfinished_ += piece;
    bytes.remove_prefix(piece.size());
    if (!bytes.empty() && bytes.front() == '\n') {
      bytes.remove_prefix(1);
    } else if (unfinished_.size() < kLongestLine) {
      break;
    }
    lines += prefix_ + std::exchange(unfinished_, {}) + '\n';
  }
  return lines;
}

std::string LinePrefixer::finish() {
  if (unfinished_.empty()) return {};
  return prefix_ + std::exchange(unfinished_, {}) + '\n';
}

}  // namespace gyre::tools
