#include "transport/shm/link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/shm/region.hpp"

namespace gyre::shm {
namespace {

// A region's descriptor is sent before the slot that needs it, so it is on its way already.
constexpr milliseconds kRegionPatience{10'000};
constexpr int kPollMs = 10;
constexpr std::size_t kMaxHandedOver = 1024;

}  // namespace

ShmLink::ShmLink(int peer, Joined joined, std::shared_ptr<Channel> channel, LaneView in,
                 ReferRules rules, const AbortState* abort)
    : peer_(peer),
      joined_(std::move(joined)),
      channel_(std::move(channel)),
      rules_(rules),
      abort_(abort) {
  send = LaneSender(joined_.out);
  receive = LaneReceiver(in);
  peer_bell = {reinterpret_cast<BellWord*>(joined_.bell.data()), joined_.event.get()};
}

bool ShmLink::refer_region(const std::byte* data, std::uint64_t bytes, SlotHeader& header) {
  if (!rules_.regions) return false;
  const auto region = region_find(data, bytes);
  if (!region || !handed_over(region->id, region->bytes)) return false;
  header.kind = SlotKind::mapped;
  header.location = region->offset;
  header.reference = {.region = region->id};
  return true;
}

bool ShmLink::refer(const std::byte* data, std::uint64_t bytes, bool by_call, SlotHeader& header) {
  if (bytes >= rules_.region_bytes && refer_region(data, bytes, header)) return true;
  if (rules_.address && bytes >= rules_.address_bytes && (by_call || rules_.always_address)) {
    header.kind = SlotKind::address;
    header.location = reinterpret_cast<std::uint64_t>(data);
    header.reference = {};
    return true;
  }
  return false;
}

void ShmLink::offer(std::byte* place, std::uint64_t bytes, SlotHeader& header) {
  if (header.kind != SlotKind::mapped) return;
  const auto region = region_find(place, bytes);
  if (!region || !handed_over(region->id, region->bytes)) return;
  header.reference.place_region = region->id;
  header.reference.place_location = region->offset;
}

// A region that is not known yet is on its way; the result then goes as usual. Nothing is renewed
// here: what locate() gave for the same step must stay mapped although the peer gives it up.
std::byte* ShmLink::place(const SlotHeader& header, std::uint64_t bytes) {
  if (header.kind != SlotKind::mapped || header.reference.place_region == 0) return nullptr;
  return in_known_region(header.reference.place_region, header.reference.place_location, bytes);
}

bool ShmLink::handed_over(std::uint64_t region, std::uint64_t bytes) {
  if (std::find(handed_over_.rbegin(), handed_over_.rend(), region) != handed_over_.rend()) {
    return true;
  }
  if (!channel_->share(region, bytes)) return false;
  // The channel remembers everything; this only saves asking it for every slice.
  if (handed_over_.size() == kMaxHandedOver) handed_over_.clear();
  handed_over_.push_back(region);
  return true;
}

const std::byte* ShmLink::locate(const SlotHeader& header, std::uint64_t bytes) const {
  if (header.kind == SlotKind::mapped) {
    return in_region(header.reference.region, header.location, bytes);
  }
  return Link::locate(header, bytes);
}

void ShmLink::renew_regions() const {
  const std::uint64_t version = channel_->version();
  if (version == regions_version_) return;
  regions_ = channel_->regions();
  regions_version_ = version;
}

bool ShmLink::knows(std::uint64_t region) const {
  renew_regions();
  return regions_.contains(region);
}

std::byte* ShmLink::in_region(std::uint64_t region, std::uint64_t offset,
                              std::uint64_t bytes) const {
  return knows(region) ? in_known_region(region, offset, bytes) : nullptr;
}

std::byte* ShmLink::in_known_region(std::uint64_t region, std::uint64_t offset,
                                    std::uint64_t bytes) const {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return nullptr;
  const PeerMemory& memory = *found->second;
  if (offset > memory.size() || bytes > memory.size() - offset) return nullptr;
  return memory.data() + offset;
}

Result<void> ShmLink::fetch(const SlotHeader& header, std::uint64_t bytes, std::byte* into) {
  if (header.kind == SlotKind::address) return read_address(header.location, bytes, into);
  if (header.kind != SlotKind::mapped) {
    return Error{Status::internal,
                 fmt::format("rank {} sent a slot of kind {} with {} bytes, which this lane cannot "
                             "hold",
                             peer_, static_cast<int>(header.kind), bytes)};
  }
  GYRE_TRY(await_region(header.reference.region));
  const std::byte* data = in_region(header.reference.region, header.location, bytes);
  if (data == nullptr) {
    return Error{Status::internal,
                 fmt::format("rank {} referred to bytes outside of its shared memory", peer_)};
  }
  std::memcpy(into, data, bytes);
  return {};
}

Result<void> ShmLink::intact(const SlotHeader& header) const {
  if (!FaultGuard::any_broken() || header.kind != SlotKind::mapped) return {};
  for (const std::uint64_t region : {header.reference.region, header.reference.place_region}) {
    const auto found = regions_.find(region);
    if (found == regions_.end() || !found->second->broken()) continue;
    return Error{Status::peer_lost,
                 fmt::format("rank {} cut the file short in which memory lies that it registered "
                             "(ncclCommRegister)",
                             peer_)};
  }
  return {};
}

Result<void> ShmLink::await_region(std::uint64_t region) {
  const Deadline deadline = Deadline::after(kRegionPatience);
  while (!knows(region)) {
    channel_->receive();
    if (knows(region)) break;
    if (abort_ != nullptr && abort_->raised()) return abort_->reason();
    if (channel_->ended()) {
      return Error{Status::peer_lost,
                   fmt::format("rank {} ended before it handed its memory over", peer_)};
    }
    if (deadline.expired()) {
      return Error{Status::timeout,
                   fmt::format("the memory that rank {} refers to could not be mapped within {} s; "
                               "NCCL_P2P_DISABLE=1 does without",
                               peer_, kRegionPatience.count() / 1000)};
    }
    pollfd wait{channel_->fd(), POLLIN, 0};
    ::poll(&wait, 1, kPollMs);
  }
  return {};
}

Result<void> ShmLink::read_address(std::uint64_t address, std::uint64_t bytes,
                                   std::byte* into) const {
  std::uint64_t done = 0;
  while (done < bytes) {
    // An ended process's number may be another one's by now.
    if (channel_->ended()) {
      return Error{Status::peer_lost,
                   fmt::format("rank {} (pid {}) is gone", peer_, channel_->pid())};
    }
    const iovec local{into + done, bytes - done};
    const iovec remote{reinterpret_cast<void*>(address + done), bytes - done};
    const ssize_t got = ::process_vm_readv(channel_->pid(), &local, 1, &remote, 1, 0);
    if (got > 0) {
      done += static_cast<std::uint64_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == ESRCH) {
      return Error{Status::peer_lost,
                   fmt::format("rank {} (pid {}) is gone", peer_, channel_->pid())};
    } else {
      return system_error(fmt::format("reading {} bytes in the memory of rank {} (pid {}); "
                                      "GYRE_CMA=0 does without",
                                      bytes, peer_, channel_->pid()),
                          got == 0 ? EFAULT : errno);
    }
  }
  return {};
}

}  // namespace gyre::shm
