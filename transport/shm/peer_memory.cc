#include "transport/shm/peer_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

namespace gyre::shm {

Result<PeerMemory> PeerMemory::map(const Fd& file, std::uint64_t offset, std::uint64_t bytes) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error("fstat of a peer's memory", errno);
  const auto there = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (bytes == 0 || offset > there || bytes > there - offset) {
    return Error{Status::system,
                 fmt::format("a peer handed over a file of {} bytes for {} bytes from {} on", there,
                             bytes, offset)};
  }
  PeerMemory region;
  GYRE_TRY_ASSIGN(region.memory_, Mapping::shared(file, bytes, offset));
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  const bool shrinks = seals < 0 || (seals & F_SEAL_SHRINK) == 0;
  if (shrinks) region.guard_ = FaultGuard(region.memory_.data(), bytes);
  return region;
}

}  // namespace gyre::shm
