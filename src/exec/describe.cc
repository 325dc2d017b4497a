#include "exec/describe.hpp"

#include <fmt/format.h>

namespace gyre {

std::string describe(CallTag tag, CallStamp stamp) {
  if (tag.kind() == CallKind::send) {
    return fmt::format("a message of {} x {}", stamp.count(), name_of(tag.type()));
  }
  std::string text = std::string(name_of(tag.kind()));
  text += tag.kind() == CallKind::all_to_all_v
              ? fmt::format(" of {}", name_of(tag.type()))
              : fmt::format(" of {} x {}", stamp.count(), name_of(tag.type()));
  if (reduces(tag.kind())) text += fmt::format(", {}", name_of(tag.op()));
  if (has_root(tag.kind())) text += fmt::format(", root {}", tag.root());
  return text + fmt::format(" (collective {})", stamp.number());
}

}  // namespace gyre
