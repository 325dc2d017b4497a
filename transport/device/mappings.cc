#include "transport/device/mappings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/clock.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/process_end.hpp"
#include "transport/device/leftovers.hpp"

namespace gyre {
namespace {

// How often memory is looked for that its user has freed, and boards for what was taken down.
constexpr milliseconds kLookBack{100};
// The thread of the calls forgets what it has offered, rather than remember all that ever was.
constexpr std::size_t kMostOffered = 4096;
// What cannot be mapped is tried again: while calls follow each other, memory is closed only once a
// second (leftovers.hpp).
constexpr milliseconds kRefusal{500};
constexpr int kMostAttempts = 10;

}  // namespace

DeviceMappings::DeviceMappings(const DeviceLanes& lanes)
    : lanes_(lanes), theirs_(std::make_unique<Board>()), peers_(lanes.world()) {}

Result<std::unique_ptr<DeviceMappings>> DeviceMappings::create(const DeviceLanes& lanes) {
  std::unique_ptr<DeviceMappings> mappings(new DeviceMappings(lanes));
  const std::size_t missed = lanes.world() * 2 * sizeof(std::uint64_t);
  GYRE_TRY_ASSIGN(mappings->missed_,
                  DeviceMemory::on_host(lanes.backend(), lanes.ordinal(), missed));
  GYRE_TRY(lanes.write_edition(mappings->own_));
  mappings->thread_ =
      std::jthread([self = mappings.get()](const std::stop_token& stop) { self->run(stop); });
  return mappings;
}

DeviceMappings::~DeviceMappings() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  for (const Mapped& mapped : mapped_) {
    close_later(lanes_.backend(), lanes_.ordinal(), mapped.pointer);
  }
  // Nobody looks after the postings any more, and peers may go on for long.
  if (!offered_.empty()) {
    own_.postings = {};
    ++own_.edition;
    (void)lanes_.write_board(own_);
  }
}

void DeviceMappings::describe(device::Rank& rank) const {
  rank.mappings.missed = reinterpret_cast<std::uint64_t*>(missed_.data());
}

std::uint64_t DeviceMappings::offer(const void* buffer, std::uint64_t bytes) {
  if (buffer == nullptr || bytes == 0) return device::kNoAllocation;
  gyrePointerInfo info{};
  info.size = sizeof info;
  const bool known = lanes_.backend().pointer_info(lanes_.ordinal(), buffer, &info) == gyreSuccess;
  if (!known || info.kind != gyrePointerDevice || info.allocation == 0) return device::kUnreachable;
  const auto* begin = static_cast<const std::byte*>(buffer);
  if (begin + bytes > static_cast<const std::byte*>(info.base) + info.bytes) {
    return device::kUnreachable;
  }
  {
    const std::lock_guard lock(mutex_);
    if (nameless_.contains(info.allocation)) return device::kUnreachable;
    if (offered_.contains(info.allocation)) return info.allocation;
    if (offered_.size() >= kMostOffered) offered_.clear();
    offered_.insert(info.allocation);
    new_.push_back(info);
  }
  wake_.notify_one();
  return info.allocation;
}

void DeviceMappings::look() {
  const auto* missed = reinterpret_cast<std::uint64_t*>(missed_.data());
  const bool any = std::any_of(missed, missed + 2 * peers_.size(), [](const std::uint64_t& word) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed) != 0;
  });
  if (!any) return;
  {
    const std::lock_guard lock(mutex_);
    missing_ = true;
  }
  wake_.notify_one();
}

void DeviceMappings::run(const std::stop_token& stop) {
  Deadline next = Deadline::after(kLookBack);
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kLookBack, [&] { return !new_.empty() || missing_; });
    }
    if (stop.stop_requested()) return;
    const ProcessEnd::Work at_work;
    if (!at_work) return;
    const bool looks_back = next.expired();
    if (looks_back) next = Deadline::after(kLookBack);
    (void)contained("mapping memory of other processes", [&]() -> Result<void> {
      work(looks_back);
      return {};
    });
  }
}

void DeviceMappings::work(bool looks_back) {
  if (looks_back) {
    take_down_old();
    close_old();
  }
  post_new();
  map_missed();
}

// What finds no place waits for one.
void DeviceMappings::post_new() {
  {
    const std::lock_guard lock(mutex_);
    unposted_.insert(unposted_.end(), new_.begin(), new_.end());
    new_.clear();
  }
  std::erase_if(unposted_, [this](const gyrePointerInfo& info) { return post(info); });
}

// Whether nothing is left to be done.
bool DeviceMappings::post(const gyrePointerInfo& info) {
  if (own_.find(info.allocation) != nullptr) return true;
  Posting* const place = own_.free_place();
  if (place == nullptr) return false;
  Posting posting;
  posting.allocation = info.allocation;
  posting.base = reinterpret_cast<std::uint64_t>(info.base);
  posting.bytes = info.bytes;
  const gyreBackend& backend = lanes_.backend();
  if (backend.ipc_export(lanes_.ordinal(), info.base, &posting.handle) != gyreSuccess) {
    log_info(Subsystem::p2p, "rank {}: a buffer of {} bytes goes through slots: {}", lanes_.rank(),
             info.bytes, backend.last_error());
    const std::lock_guard lock(mutex_);
    if (nameless_.size() >= kMostOffered) nameless_.clear();
    nameless_.insert(info.allocation);
    return true;
  }
  posting.sum = posting.right_sum();
  *place = posting;
  if (lanes_.write_posting(own_, own_.index_of(*place))) return true;
  *place = {};
  return false;
}

// A number is never given twice, so what has another one now, or none, was freed.
void DeviceMappings::take_down_old() {
  bool any = false;
  for (Posting& posting : own_.postings) {
    if (posting.allocation == 0) continue;
    gyrePointerInfo info{};
    info.size = sizeof info;
    const bool known =
        lanes_.backend().pointer_info(lanes_.ordinal(), reinterpret_cast<void*>(posting.base),
                                      &info) == gyreSuccess;
    if (!known || info.allocation == posting.allocation) continue;
    posting = {};
    any = true;
    (void)lanes_.write_posting(own_, own_.index_of(posting));
  }
  if (!any) return;
  ++own_.edition;
  (void)lanes_.write_edition(own_);
}

void DeviceMappings::map_missed() {
  {
    const std::lock_guard lock(mutex_);
    missing_ = false;
  }
  auto* words = reinterpret_cast<std::uint64_t*>(missed_.data());
  for (std::size_t i = 0; i < 2 * peers_.size(); ++i) {
    const std::uint64_t allocation =
        std::atomic_ref(words[i]).exchange(0, std::memory_order_relaxed);
    const int peer = static_cast<int>(i / 2);
    if (allocation == 0 || is_mapped(peer, allocation)) continue;
    if (const Result<void> done = map(peer, allocation); !done) {
      refuse(peer, allocation, done.error());
    }
  }
}

void DeviceMappings::refuse(int peer, std::uint64_t allocation, const Error& why) {
  auto& refused = peers_[static_cast<std::size_t>(peer)].refused;
  if (refused.size() >= kMostOffered) refused.clear();
  Refusal& refusal = refused[allocation];
  refusal.again = Deadline::after(kRefusal);
  if (++refusal.attempts < kMostAttempts) return;
  refusal.again = Deadline::never();
  log_info(Subsystem::p2p, "rank {}: memory of rank {} cannot be mapped and goes through slots: {}",
           lanes_.rank(), peer, why.text);
}

// Nothing happens where the owner has not posted it yet, or there is no place for it: a later call
// will miss it again.
Result<void> DeviceMappings::map(int peer, std::uint64_t allocation) {
  Peer& known = peers_[static_cast<std::size_t>(peer)];
  const std::size_t place = free_place(peer, allocation);
  const auto refused = known.refused.find(allocation);
  if (refused != known.refused.end() && !refused->second.again.expired()) return {};
  if (place == device::kMappings || !read_board(peer)) return {};
  const Posting* const posting = theirs_->find(allocation);
  if (posting == nullptr) return {};
  void* pointer = nullptr;
  const gyreBackend& backend = lanes_.backend();
  if (backend.ipc_import(lanes_.ordinal(), &posting->handle, &pointer) != gyreSuccess) {
    return device_error(backend, lanes_.ordinal(), "mapping memory of another process");
  }
  const device::Mapping mapping{allocation,
                                reinterpret_cast<std::uint64_t>(pointer) - posting->base};
  if (auto written = write_mapping(peer, place, mapping); !written) {
    close_later(backend, lanes_.ordinal(), pointer);
    return written;
  }
  mapped_.push_back({peer, mapping, place, pointer});
  known.refused.erase(allocation);
  log_info(Subsystem::p2p, "rank {}: mapped {} bytes of rank {}", lanes_.rank(), posting->bytes,
           peer);
  return {};
}

// Nobody asks for what its owner has freed, and nobody reads it any more: the owner's last call on
// it ended after every peer was done with it.
void DeviceMappings::close_old() {
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    const int rank = static_cast<int>(peer);
    const bool any = std::any_of(mapped_.begin(), mapped_.end(),
                                 [&](const Mapped& mapped) { return mapped.peer == rank; });
    if (!any) continue;
    const auto edition = lanes_.read_edition(rank);
    if (!edition || *edition == peers_[peer].edition || !read_board(rank)) continue;
    bool all = true;
    std::erase_if(mapped_, [&](const Mapped& mapped) {
      if (mapped.peer != rank || theirs_->find(mapped.mapping.allocation) != nullptr) return false;
      // With its shift, for a kernel that has just found it there.
      const device::Mapping none{0, mapped.mapping.shift};
      if (!lanes_.write_mapping(rank, mapped.place, none)) {
        all = false;
        return false;
      }
      close_later(lanes_.backend(), lanes_.ordinal(), mapped.pointer);
      Leftovers::of_process().add([own = lanes_.rank(), rank] {
        log_info(Subsystem::p2p, "rank {}: gave back memory that rank {} has freed", own, rank);
      });
      return true;
    });
    if (all) peers_[peer].edition = *edition;
  }
}

bool DeviceMappings::read_board(int peer) {
  return static_cast<bool>(lanes_.read_board(peer, *theirs_));
}

bool DeviceMappings::is_mapped(int peer, std::uint64_t allocation) const {
  return std::any_of(mapped_.begin(), mapped_.end(), [&](const Mapped& mapped) {
    return mapped.peer == peer && mapped.mapping.allocation == allocation;
  });
}

// kMappings: none of the places that kernels look at.
std::size_t DeviceMappings::free_place(int peer, std::uint64_t allocation) const {
  for (std::uint32_t i = 0; i < device::kMappingPlaces; ++i) {
    const std::size_t place = (allocation + i) % device::kMappings;
    const bool taken = std::any_of(mapped_.begin(), mapped_.end(), [&](const Mapped& mapped) {
      return mapped.peer == peer && mapped.place == place;
    });
    if (!taken) return place;
  }
  return device::kMappings;
}

// A kernel that reads a place meanwhile finds nothing, or all of it.
Result<void> DeviceMappings::write_mapping(int peer, std::size_t place,
                                           const device::Mapping& mapping) const {
  GYRE_TRY(lanes_.write_mapping(peer, place, {0, mapping.shift}));
  return lanes_.write_mapping(peer, place, mapping);
}

}  // namespace gyre
