#include "base/memory_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "base/maps.hpp"
#include "base/memory.hpp"
#include "base/parse_value.hpp"

namespace gyre {
namespace {

// More than the lines of a process with the kernel's default limit of mappings (65530).
constexpr std::size_t kMostText = 16 << 20;
// Nothing but a look: opening what turns out to be another file has no effect on it.
constexpr int kOpenFlags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// Empty if it cannot be read, or not in whole.
std::string read_maps() {
  const Fd file(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1 << 14> piece;
  while (file && text.size() < kMostText) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return {};
}

// What is looked for: this file, from `offset` on.
struct Wanted {
  const MapsLine& mapping;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  bool is(const struct stat& info) const {
    return S_ISREG(info.st_mode) && info.st_ino == mapping.inode &&
           info.st_dev == ::makedev(mapping.major, mapping.minor);
  }
};

// Whether others can map the range by this descriptor, which is shown by doing so.
bool serves(const Fd& file, const Wanted& wanted) {
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !wanted.is(info)) return false;
  if (static_cast<std::uint64_t>(info.st_size) < wanted.offset + wanted.bytes) return false;
  return static_cast<bool>(Mapping::shared(file, wanted.bytes, wanted.offset));
}

Fd by_map_files(const Wanted& wanted) {
  const auto path =
      fmt::format("/proc/self/map_files/{:x}-{:x}", wanted.mapping.begin, wanted.mapping.end);
  Fd file(::open(path.c_str(), kOpenFlags));
  return serves(file, wanted) ? std::move(file) : Fd();
}

Fd by_name(const Wanted& wanted) {
  const std::string_view name = wanted.mapping.name;
  if (!name.starts_with('/') || name.size() >= PATH_MAX) return {};
  const std::string path(name);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !wanted.is(info)) return {};
  Fd file(::open(path.c_str(), kOpenFlags));
  return serves(file, wanted) ? std::move(file) : Fd();
}

// The name must agree too: segments of shmget() have numbers of their own on the kernel's device,
// which a memfd may have as well.
bool named_alike(int descriptor, const Wanted& wanted) {
  std::array<char, PATH_MAX> name;
  const auto path = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = ::readlink(path.c_str(), name.data(), name.size());
  return length > 0 &&
         std::string_view(name.data(), static_cast<std::size_t>(length)) == wanted.mapping.name;
}

Fd by_own_descriptor(const Wanted& wanted) {
  const std::unique_ptr<DIR, int (*)(DIR*)> table(::opendir("/proc/self/fd"), ::closedir);
  if (table == nullptr) return {};
  while (const dirent* entry = ::readdir(table.get())) {
    const auto number = parse_integer(entry->d_name);
    if (!number || *number < 0 || *number > INT_MAX) continue;
    const int descriptor = static_cast<int>(*number);
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !wanted.is(info)) continue;
    // Another thread may have closed it meanwhile: what counts is the copy.
    Fd file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (file && named_alike(file.get(), wanted) && serves(file, wanted)) return file;
  }
  return {};
}

}  // namespace

std::optional<MemoryFile> open_memory_file(const void* data, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uint64_t>(data);
  const std::string maps = read_maps();
  const auto mapping = find_shared_file(maps, begin, bytes);
  if (!mapping) return std::nullopt;
  const std::uint64_t page = begin / page_size() * page_size();
  const Wanted wanted{*mapping, mapping->offset + (page - mapping->begin), begin - page + bytes};
  MemoryFile found{{}, wanted.offset, ::makedev(mapping->major, mapping->minor), mapping->inode};
  for (const auto way : {by_map_files, by_name, by_own_descriptor}) {
    found.file = way(wanted);
    if (found.file) return found;
  }
  return std::nullopt;
}

}  // namespace gyre
