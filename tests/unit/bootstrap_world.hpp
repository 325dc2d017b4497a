// What the bootstrap's tests of worlds share.
#pragma once

#include "bootstrap/world.hpp"

namespace gyre::test {

inline WorldOptions patient() {
  WorldOptions options;
  options.timeout = milliseconds(20'000);
  return options;
}

}  // namespace gyre::test
