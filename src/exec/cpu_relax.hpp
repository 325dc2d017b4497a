// Between two looks at a line that another core writes.
#pragma once

namespace gyre {

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace gyre
