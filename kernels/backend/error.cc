#include "kernels/backend/error.cuh"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>

namespace gyre::gpu {
namespace {

constinit thread_local std::array<char, 768> last_text{};

// Of the process that loaded this library.
const pid_t loaded_by = ::getpid();

template <typename... Values>
void keep(fmt::format_string<Values...> format, Values&&... values) {
  const auto end = fmt::format_to_n(last_text.data(), last_text.size() - 1, format,
                                    std::forward<Values>(values)...);
  *end.out = '\0';
}

}  // namespace

gyreResult refuse(gyreResult code, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), last_text.size() - 1);
  std::copy_n(text.data(), length, last_text.data());
  last_text[length] = '\0';
  return code;
}

gyreResult failure(Code code, const char* call, int ordinal, std::string_view detail) noexcept {
  // Else the user's own next look at the runtime's last error would find ours.
  (void)take_last_error();
  const gyreResult result = result_of(code);
  if (result == gyreErrorNotReady) return refuse(result, "the work is not complete yet");
  try {
    if (code == kNotInitialized && ::getpid() != loaded_by) {
      keep(
          "{}{}: {} cannot be used in a child of fork() whose parent used it: start a program "
          "there",
          kName, call, kTitle);
      return gyreErrorForked;
    }
    const char* remedy = remedy_of(code);
    keep("{}{}{}{}: {} ({}){}{}", kName, call, detail,
         ordinal < 0 ? "" : fmt::format(" on {} device {}", kTitle, ordinal), error_text(code),
         error_name(code), *remedy != '\0' ? "; " : "", remedy);
  } catch (...) {
    return caught();
  }
  return result;
}

gyreResult caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return refuse(gyreErrorOutOfMemory, "this process has no memory left");
  } catch (const std::exception& exception) {
    return refuse(gyreErrorSystem, exception.what());
  } catch (...) {
    return refuse(gyreErrorSystem, "an unknown exception");
  }
}

const char* last_error() noexcept { return last_text.data(); }

}  // namespace gyre::gpu
