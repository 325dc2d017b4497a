#include "base/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.hpp"

namespace gyre {

Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t most) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return system_error(path.string(), errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{Status::invalid_argument, fmt::format("{}: is no regular file", path.string())};
  }
  std::string text;
  std::array<char, 1 << 14> part;
  while (text.size() <= most) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path.string(), errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return Error{Status::invalid_argument,
               fmt::format("{}: more than {} bytes", path.string(), most)};
}

}  // namespace gyre
