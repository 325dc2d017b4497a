#include "bootstrap/id_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "base/fd.hpp"
#include "base/fnv.hpp"

namespace gyre {

namespace {

// False, and errno, where not all of it could be written.
bool write_all(const Fd& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    // A disk that becomes full gives its reason to the next attempt.
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string id_file_path(std::string_view folder, std::string_view job) {
  Fnv hash;
  hash.add(job);
  return fmt::format("{}/gyre-{:016x}.id", folder, hash.value());
}

Result<void> write_id_file(const std::string& path, const UniqueId& id) {
  const std::string temporary = fmt::format("{}.{}", path, ::getpid());
  ::unlink(temporary.c_str());
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return system_error(fmt::format("creating {}", temporary), errno);
  // Readers on other hosts must not find a name without contents.
  const bool whole = write_all(file, id.bytes) && ::fsync(file.get()) == 0 &&
                     ::rename(temporary.c_str(), path.c_str()) == 0;
  if (whole) return {};
  const Error error = system_error(fmt::format("writing {}", path), errno);
  ::unlink(temporary.c_str());
  return error;
}

Result<UniqueId> read_id_file(const std::string& path) {
  const Error nothing{Status::busy, fmt::format("no id in {}", path)};
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno != ENOENT && errno != EINTR && errno != ESTALE) {
    return system_error(fmt::format("opening {}", path), errno);
  }
  if (!file) return nothing;
  UniqueId id;
  const ssize_t got = ::read(file.get(), id.bytes.data(), id.bytes.size());
  if (got != static_cast<ssize_t>(id.bytes.size()) || !decode(id)) return nothing;
  return id;
}

void remove_id_file(const std::string& path, const UniqueId& id) {
  const auto present = read_id_file(path);
  if (present && *present == id) ::unlink(path.c_str());
}

}  // namespace gyre
