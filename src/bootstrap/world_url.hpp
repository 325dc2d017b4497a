// The three forms of URL that World::join understands. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace gyre {

struct WorldUrl {
  enum class Kind { launcher, tcp, file };
  Kind kind = Kind::launcher;
  std::string place;  // "host:port" or an absolute folder
  int rank = -1;      // from the query; negative: not said
  int world = -1;

  bool operator==(const WorldUrl&) const = default;
};

// invalid_argument, with the three forms, for anything else.
Result<WorldUrl> parse_world_url(std::string_view url);

}  // namespace gyre
