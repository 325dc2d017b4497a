// A file and a line: std::source_location, which clang 14 lacks.
#pragma once

namespace gyre {

struct SourcePlace {
  const char* file = "";
  int line = 0;

  // As a default argument or member initializer: the place of the call, or of the braces.
  static constexpr SourcePlace here(const char* file = __builtin_FILE(),
                                    int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace gyre
