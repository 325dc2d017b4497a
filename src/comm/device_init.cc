// How a rank on a device comes to be, what watches over its kernels, and how it ends.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <utility>

#include "backend/loader.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/process_end.hpp"
#include "comm/communicator.hpp"
#include "exec/describe.hpp"

namespace gyre {
namespace {

// How often the host looks for what a kernel, or a peer's end, has to say.
constexpr milliseconds kWatchInterval{2};
constexpr milliseconds kLastKernels{900};
constexpr std::size_t kIdentityBytes = 16;

std::vector<std::byte> bytes_of(std::uint32_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

int Communicator::device() const {
  // Until then another thread may be about to choose it.
  const bool chosen = state() != State::opening && device_ != nullptr;
  return chosen ? device_->ordinal() : std::max(options_.device, 0);
}

Result<void> Communicator::choose_device() {
  const Result<const gyreBackend*> wanted = wanted_backend();
  if (!wanted) {
    return Error{Status::invalid_usage,
                 fmt::format("GYRE_DEVICE={}: {}; set it to host, or leave it out",
                             settings_.device, wanted.error().text)};
  }
  const gyreBackend* backend = *wanted;
  if (backend->kind == gyreDeviceHost) return {};
  int ordinal = options_.device;
  if (ordinal < 0 && backend->device_current(&ordinal) != gyreSuccess) {
    return device_error(*backend, ordinal, "asking for the current device");
  }
  int count = 0;
  if (backend->device_count(&count) != gyreSuccess) {
    return device_error(*backend, ordinal, "asking how many devices there are");
  }
  if (ordinal >= count) {
    return Error{Status::invalid_argument, fmt::format("{} device {} does not exist: there are {}",
                                                       backend->name, ordinal, count)};
  }
  device_ = std::make_unique<DeviceRank>(*backend, ordinal);
  return {};
}

Result<void> Communicator::add_device(PeerFacts& facts) const {
  if (device_ == nullptr) return {};
  const gyreBackend& backend = device_->backend();
  std::array<unsigned char, kIdentityBytes> identity{};
  if (backend.device_identity(device_->ordinal(), identity.data()) != gyreSuccess) {
    return device_error(backend, device_->ordinal(), "asking which device it is");
  }
  facts.device_kind = backend.kind;
  facts.device.assign(identity.begin(), identity.end());
  return {};
}

// Whether it is to be tried: all ranks are on devices of one vendor in one machine.
bool Communicator::kernels_may_reach_all() const {
  const PeerFacts& first = facts_[0];
  return std::all_of(facts_.begin(), facts_.end(), [&](const PeerFacts& other) {
    return other.device_kind == first.device_kind && other.place == first.place;
  });
}

// The fewest that any rank can have: channels are the same on all.
Result<std::uint32_t> Communicator::agree_on_channels(Deadline deadline) {
  const std::string& own = facts_[static_cast<std::size_t>(rank_)].device;
  const auto neighbours = std::count_if(
      facts_.begin(), facts_.end(), [&](const PeerFacts& facts) { return facts.device == own; });
  GYRE_TRY_ASSIGN(std::uint32_t channels, device_->fitting_channels(static_cast<int>(neighbours)));
  GYRE_TRY_ASSIGN(const auto all, control_->all_gather(bytes_of(channels), "channels of devices",
                                                       deadline, &abort_));
  for (const auto& bytes : all) {
    std::uint32_t theirs = 0;
    if (bytes.size() != sizeof theirs) {
      return Error{Status::internal, "a rank sent channels that cannot be read"};
    }
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    channels = std::min(channels, theirs);
  }
  const auto most = static_cast<std::uint32_t>(settings_.max_channels) * kMaxStrands;
  return std::clamp(channels, std::uint32_t{kMaxStrands}, std::max(most, 2U));
}

Result<bool> Communicator::all_say(bool yes, std::string_view what, Deadline deadline) {
  GYRE_TRY_ASSIGN(const auto all,
                  control_->all_gather(bytes_of(yes ? 1 : 0), what, deadline, &abort_));
  return std::all_of(all.begin(), all.end(), [](const auto& one) { return one == bytes_of(1); });
}

// Lanes in device memory to all peers; false where a rank has none to one of its peers, so that
// nobody uses any.
Result<bool> Communicator::connect_device(Deadline deadline) {
  const bool tries = world_ <= static_cast<int>(device::kMostPeers) && !settings_.p2p_disable;
  if (!tries) {
    log_info(Subsystem::init, "rank {}: kernels look for no paths to the peers: {}", rank_,
             settings_.p2p_disable ? "NCCL_P2P_DISABLE is set" : "there are too many ranks");
  }
  GYRE_TRY_ASSIGN(const bool all_try, all_say(tries, "paths of devices", deadline));
  if (!all_try) return false;
  GYRE_TRY_ASSIGN(const std::uint32_t channels, agree_on_channels(deadline));
  GYRE_TRY(device_->open(rank_, world_, channels));
  DeviceLanes& lanes = device_->lanes();
  // Who has no name for its memory, say, offers nothing that a peer could connect to.
  const Result<Blob> mine = lanes.offer();
  GYRE_TRY_ASSIGN(
      const auto offers,
      control_->all_gather(mine ? *mine : Blob(), "offers of device memory", deadline, &abort_));
  Result<void> reached = mine ? lanes.connect(offers) : Result<void>(mine.error());
  if (reached) reached = lanes.probe();
  GYRE_TRY(control_->all_gather(bytes_of(1), "probes of device memory", deadline, &abort_));
  if (reached) reached = lanes.probed();
  if (!reached) {
    log_info(Subsystem::init, "rank {}: kernels do not reach all peers: {}", rank_,
             reached.error().text);
  }
  return all_say(static_cast<bool>(reached), "verdicts of devices", deadline);
}

Result<void> Communicator::open_device() {
  GYRE_TRY(device_->ready(milliseconds(settings_.timeout_ms),
                          static_cast<std::uint64_t>(settings_.map_bytes)));
  abort_.on_raise([this] { device_->abort(); });
  log_info(Subsystem::init, "rank {} of {}: {} device {}, {} channels, slots of {} bytes{}", rank_,
           world_, device_->backend().name, device_->ordinal(), device_->facts().channels,
           device_->facts().slot_bytes,
           device_->facts().one_process ? ", all ranks in one process" : "");
  if (settings_.check) {
    log_warn(
        "rank {}: GYRE_CHECK compares the calls of host ranks only; ranks on devices notice "
        "a disagreement by what arrives",
        rank_);
  }
  watch_device();
  return {};
}

std::optional<Error> Communicator::device_fault() const {
  const auto fault = device_->fault();
  if (!fault) return std::nullopt;
  const std::string own = describe(CallTag{fault->own_tag}, CallStamp{fault->own_stamp});
  const std::string& peer = watch_->name(static_cast<int>(fault->peer));
  switch (static_cast<device::Fault>(fault->fault)) {
    case device::Fault::timeout:
      return Error{Status::timeout,
                   fmt::format("rank {}: {} did not end within {} s (GYRE_TIMEOUT): {} is late",
                               rank_, own, settings_.timeout_ms / 1000, peer)};
    case device::Fault::left:
      return watch_->loss_of(static_cast<int>(fault->peer), own);
    case device::Fault::other_call:
      return Error{
          Status::invalid_usage,
          fmt::format("ranks disagree about a call: rank {} is in {} and expects {} bytes, {} sent "
                      "{} bytes of {}; every rank must issue the same calls with the same count, "
                      "type, operation and root",
                      rank_, own, fault->own_bytes, peer, fault->peer_bytes,
                      describe(CallTag{fault->peer_tag}, CallStamp{fault->peer_stamp}))};
    default:
      return Error{Status::internal,
                   fmt::format("rank {}: {} sent what no rank sends", rank_, peer)};
  }
}

// Kernels cannot call: the host asks for what they found, and tells them of peers that are gone.
void Communicator::look_at_device() {
  const ProcessEnd::Work work;
  if (!work || abort_.raised() || errands_ != nullptr) return;
  device_->look_for_memory();
  std::optional<Error> error = device_fault();
  if (!error && watch_->changed()) {
    device_->tell_who_left(watch_->all_left());
    if (const auto peer = watch_->gone_for(milliseconds(0))) {
      error = watch_->loss_of(*peer, "a call on the device");
    }
  }
  if (!error) return;
  if (!abort_.raised()) log_warn("{}", error->text);
  if (abort_.raise(*error) && control_ != nullptr) control_->announce(*error);
}

void Communicator::watch_device() {
  device_watch_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, kWatchInterval, [] { return false; }) &&
           !stop.stop_requested()) {
      (void)contained("watching a device", [this]() -> Result<void> {
        look_at_device();
        return {};
      });
    }
  });
}

void Communicator::close_device() {
  if (device_ == nullptr || device_->is_bare()) return;
  if (device_watch_.joinable()) {
    device_watch_.request_stop();
    device_watch_.join();
  }
  device_->abort();
  errands_.reset();  // its kernels leave
  if (device_->wait_idle(Deadline::after(kLastKernels))) return;
  log_warn(
      "rank {}: a kernel did not leave within {} ms of the abort; its memory is kept until it does",
      rank_, kLastKernels.count());
  device_->abandon();
}

}  // namespace gyre
