#include "comm/device_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

#include "base/process_end.hpp"
#include "transport/device/leftovers.hpp"

namespace gyre {
namespace {

constexpr std::uint32_t kSlots = 4;  // two_shot needs as many
// Of slots, per rank: lanes carry what cannot be read where it lies.
constexpr std::uint64_t kSlotMemory = 16 << 20;
constexpr std::uint64_t kLeastSlotBytes = 4 << 10;
static_assert(kLeastSlotBytes >= device::kPushedBytes);
constexpr std::uint64_t kMostSlotBytes = 128 << 10;
// Half of what the device holds at once is left to a second communicator and to other kernels.
constexpr std::uint32_t kShareOfDevice = 2;
constexpr milliseconds kIdleInterval{1};

std::uint64_t slot_bytes_for(std::uint64_t world, std::uint64_t channels) {
  const std::uint64_t lanes = std::max<std::uint64_t>(1, channels * (world - 1) * kSlots);
  return std::clamp(std::bit_floor(kSlotMemory / lanes), kLeastSlotBytes, kMostSlotBytes);
}

std::uint32_t load(const std::uint32_t& word) {
  return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace

DeviceRank::DeviceRank(const gyreBackend& backend, int ordinal)
    : backend_(backend), ordinal_(ordinal) {}

DeviceRank::~DeviceRank() {
  watch_.reset();
  for (gyreEvent_t event : events_) (void)backend_.event_destroy(ordinal_, event);
  mappings_.reset();
  lanes_.reset();
  mailbox_ = {};
  staging_.clear();
}

Error DeviceRank::failed(std::string_view what) const {
  return device_error(backend_, ordinal_, what);
}

Result<gyreEvent_t> DeviceRank::make_event() {
  gyreEvent_t event = nullptr;
  if (backend_.event_create_untimed(ordinal_, &event) != gyreSuccess) {
    return failed("creating an event");
  }
  events_.push_back(event);
  return event;
}

Result<std::uint32_t> DeviceRank::fitting_channels(int neighbours) const {
  if (backend_.load_kernels(ordinal_) != gyreSuccess) return failed("loading kernels");
  std::uint32_t least = ~0U;
  for (std::uint32_t kernel = 0; kernel < device::kKernels; ++kernel) {
    std::uint32_t blocks = 0;
    if (backend_.resident_blocks(ordinal_, kernel, device::kThreads, &blocks) != gyreSuccess) {
      return failed("asking how many blocks fit");
    }
    least = std::min(least, blocks);
  }
  const std::uint32_t share = least / kShareOfDevice / static_cast<std::uint32_t>(neighbours);
  // A schedule's two strands wait for each other.
  if (share >= kMaxStrands) return share;
  return Error{Status::invalid_usage,
               fmt::format("{} device {} holds {} blocks of {} threads at once: too few for the {} "
                           "ranks on it, of which each needs {}",
                           backend_.name, ordinal_, least, device::kThreads, neighbours,
                           kMaxStrands * kShareOfDevice)};
}

// What kernels and the order of calls need, once.
Result<void> DeviceRank::prepare() {
  if (!is_bare()) return {};
  // Nobody knows when a graph runs.
  watch_ = std::make_unique<Leftovers::Watch>(
      [this] { return capture_ == 0 && wait_idle(Deadline::after(milliseconds(0))); });
  GYRE_TRY_ASSIGN(mailbox_, DeviceMemory::on_host(backend_, ordinal_, sizeof(device::Mailbox)));
  view_.mailbox = reinterpret_cast<device::Mailbox*>(mailbox_.data());
  GYRE_TRY_ASSIGN(latest_, make_event());
  GYRE_TRY_ASSIGN(captured_, make_event());
  GYRE_TRY_ASSIGN(junction_, make_event());
  return {};
}

Result<void> DeviceRank::open_apart() {
  if (backend_.load_kernels(ordinal_) != gyreSuccess) return failed("loading kernels");
  lanes_.reset();
  return prepare();
}

Result<void> DeviceRank::open(int rank, int world, std::uint32_t channels) {
  GYRE_TRY(prepare());
  facts_.channels = channels;
  facts_.slot_bytes = slot_bytes_for(static_cast<std::uint64_t>(world), channels);
  GYRE_TRY_ASSIGN(lanes_, DeviceLanes::create(backend_, ordinal_, rank,
                                              {.world = static_cast<std::uint32_t>(world),
                                               .channels = channels,
                                               .slots = kSlots,
                                               .slot_bytes = facts_.slot_bytes}));
  return {};
}

Result<void> DeviceRank::ready(milliseconds timeout, std::uint64_t map_bytes) {
  facts_.one_process = lanes_->one_process();
  facts_.map_bytes = map_bytes;
  lanes_->describe(view_);
  inboxes_ = lanes_->inboxes();
  if (!facts_.one_process) {
    GYRE_TRY_ASSIGN(mappings_, DeviceMappings::create(*lanes_));
    mappings_->describe(view_);
  }
  view_.timeout_ns = static_cast<std::uint64_t>(timeout.count()) * 1'000'000U;
  return {};
}

// What is enqueued on `later` from now on comes after what was enqueued on `earlier`.
Result<void> DeviceRank::follow(gyreEvent_t event, gyreStream_t earlier, gyreStream_t later) {
  if (backend_.event_record(ordinal_, event, earlier) != gyreSuccess ||
      backend_.stream_wait_event(ordinal_, later, event) != gyreSuccess) {
    return failed("ordering two streams");
  }
  return {};
}

// The capture that all of the streams take part in; 0: none does.
Result<std::uint64_t> DeviceRank::capture_of(std::span<const gyreStream_t> streams) const {
  std::uint64_t first = 0;
  for (gyreStream_t const& stream : streams) {
    std::uint64_t capture = 0;
    if (backend_.stream_capture(ordinal_, stream, &capture) != gyreSuccess) {
      return failed("asking whether a stream is captured");
    }
    if (&stream == &streams.front()) first = capture;
    if (capture != first) {
      return Error{Status::invalid_usage,
                   "the streams of a group must all be captured in one graph, or none of them"};
    }
  }
  return first;
}

// A handle may be that of a later stream than it was.
Result<std::uint64_t> DeviceRank::identity_of(gyreStream_t stream) const {
  std::uint64_t identity = 0;
  if (backend_.stream_identity(ordinal_, stream, &identity) != gyreSuccess) {
    return failed("asking which stream it is");
  }
  return identity;
}

Result<void> DeviceRank::begin(std::span<const gyreStream_t> streams) {
  gyreStream_t runner = streams.front();
  GYRE_TRY_ASSIGN(capturing_, capture_of(streams));
  // CUDA does not tell while the stream is captured; in a graph, an order twice costs nothing.
  runner_ = 0;
  if (capturing_ == 0) {
    GYRE_TRY_ASSIGN(runner_, identity_of(runner));
  }
  for (gyreStream_t other : streams.subspan(1)) GYRE_TRY(follow(junction_, other, runner));
  // A graph's calls are ordered among themselves; when it runs is for its user to say.
  const bool known = capturing_ == 0 ? any_call_ : capture_ == capturing_;
  const std::uint64_t before = capturing_ == 0 ? latest_stream_ : captured_stream_;
  if (!known || (runner_ != 0 && runner_ == before)) return {};
  gyreEvent_t event = capturing_ == 0 ? latest_ : captured_;
  if (backend_.stream_wait_event(ordinal_, runner, event) != gyreSuccess) {
    return failed("waiting for the call before");
  }
  return {};
}

Result<void> DeviceRank::end(std::span<const gyreStream_t> streams) {
  gyreStream_t runner = streams.front();
  gyreEvent_t event = capturing_ == 0 ? latest_ : captured_;
  if (backend_.event_record(ordinal_, event, runner) != gyreSuccess) {
    return failed("recording the end of a call");
  }
  for (gyreStream_t other : streams.subspan(1)) {
    if (backend_.stream_wait_event(ordinal_, other, event) != gyreSuccess) {
      return failed("ordering two streams");
    }
  }
  (capturing_ == 0 ? latest_stream_ : captured_stream_) = runner_;
  if (capturing_ == 0) {
    any_call_ = true;
  } else {
    capture_ = capturing_;
  }
  return {};
}

Result<void> DeviceRank::launch(std::uint32_t kernel, device::Launch& launch, std::uint32_t threads,
                                gyreStream_t stream) {
  launch.rank = view_;
  launch.inboxes = inboxes_;
  const gyreLaunch call{.size = sizeof(gyreLaunch),
                        .kernel = kernel,
                        .blocks = launch.chains * launch.channels,
                        .threads = threads,
                        .shared_bytes = 0,
                        .arguments = &launch,
                        .argument_bytes = sizeof launch};
  if (backend_.launch(ordinal_, &call, stream) != gyreSuccess) return failed("starting a kernel");
  return {};
}

Result<std::byte*> DeviceRank::staging(std::size_t bytes) {
  const auto fits = [&](const Staging& one) {
    if (one.captured || one.bytes < bytes) return false;
    return !one.used || backend_.event_query(ordinal_, one.event) == gyreSuccess;
  };
  const auto found = std::find_if(staging_.begin(), staging_.end(), fits);
  staging_at_ = static_cast<std::size_t>(found - staging_.begin());
  if (found != staging_.end()) return found->memory.data();
  Staging fresh;
  fresh.bytes = std::bit_ceil(std::max<std::size_t>(bytes, 16 << 10));
  GYRE_TRY_ASSIGN(fresh.memory, DeviceMemory::on_host(backend_, ordinal_, fresh.bytes));
  GYRE_TRY_ASSIGN(fresh.event, make_event());
  staging_.push_back(std::move(fresh));
  return staging_.back().memory.data();
}

Result<void> DeviceRank::staged(gyreStream_t stream) {
  Staging& one = staging_[staging_at_];
  one.captured = capturing_ != 0;
  one.used = true;
  if (one.captured) return {};
  if (backend_.event_record(ordinal_, one.event, stream) != gyreSuccess) {
    return failed("recording the use of pinned memory");
  }
  return {};
}

Result<std::byte*> DeviceRank::temporary(std::size_t bytes, gyreStream_t stream) {
  void* memory = nullptr;
  if (backend_.memory_alloc_async(ordinal_, bytes, &memory, stream) != gyreSuccess) {
    return failed(fmt::format("allocating {} bytes for a call", bytes));
  }
  return static_cast<std::byte*>(memory);
}

Result<void> DeviceRank::release(std::byte* memory, gyreStream_t stream) {
  if (backend_.memory_free_async(ordinal_, memory, stream) != gyreSuccess) {
    return failed("freeing a call's memory");
  }
  return {};
}

Result<void> DeviceRank::copy(std::byte* to, const std::byte* from, std::size_t bytes,
                              gyreStream_t stream) {
  if (backend_.copy_async(ordinal_, to, from, bytes, stream) != gyreSuccess) {
    return failed("copying on the device");
  }
  return {};
}

Result<void> DeviceRank::check_buffer(const void* buffer, std::string_view what) const {
  if (buffer == nullptr) return {};
  gyrePointerInfo info{};
  info.size = sizeof info;
  if (backend_.pointer_info(ordinal_, buffer, &info) != gyreSuccess) {
    return failed(fmt::format("looking at the {} buffer", what));
  }
  if (info.kind != gyrePointerUnknown) return {};
  return Error{Status::invalid_argument,
               fmt::format("the {} buffer is host memory that {} device {} cannot reach; pass "
                           "device or pinned memory, or set GYRE_DEVICE=host for a rank on the "
                           "host",
                           what, backend_.name, ordinal_)};
}

bool DeviceRank::is_on_host(const void* buffer) const {
  gyrePointerInfo info{};
  info.size = sizeof info;
  return backend_.pointer_info(ordinal_, buffer, &info) == gyreSuccess &&
         info.kind == gyrePointerHost;
}

std::uint64_t DeviceRank::offer(const void* buffer, std::uint64_t bytes) {
  return mappings_ == nullptr ? device::kUnreachable : mappings_->offer(buffer, bytes);
}

void DeviceRank::look_for_memory() {
  if (mappings_ != nullptr) mappings_->look();
}

void DeviceRank::abort() const {
  const ProcessEnd::Work work;
  if (!work || mailbox_.data() == nullptr) return;
  auto& mailbox = *reinterpret_cast<device::Mailbox*>(mailbox_.data());
  std::atomic_ref(mailbox.abort).store(1, std::memory_order_release);
}

void DeviceRank::tell_who_left(std::uint64_t ranks) const {
  auto& mailbox = *reinterpret_cast<device::Mailbox*>(mailbox_.data());
  std::atomic_ref(mailbox.left).store(ranks, std::memory_order_release);
}

void DeviceRank::abandon() {
  std::erase(events_, latest_);
  Leftovers::of_process().watch_until([&backend = backend_, ordinal = ordinal_, event = latest_] {
    if (backend.event_query(ordinal, event) == gyreErrorNotReady) return false;
    (void)backend.event_destroy(ordinal, event);
    return true;
  });
  watch_.reset();
  any_call_ = false;
  mappings_.reset();
  lanes_.reset();
  mailbox_ = {};
  staging_.clear();
}

std::optional<device::Mailbox> DeviceRank::fault() const {
  if (mailbox_.data() == nullptr) return std::nullopt;
  const auto& mailbox = *reinterpret_cast<const device::Mailbox*>(mailbox_.data());
  if (load(mailbox.fault) == 0) return std::nullopt;
  return mailbox;
}

bool DeviceRank::wait_idle(Deadline deadline) const {
  if (!any_call_) return true;
  while (backend_.event_query(ordinal_, latest_) == gyreErrorNotReady) {
    if (deadline.expired()) return false;
    std::this_thread::sleep_for(kIdleInterval);
  }
  return true;
}

}  // namespace gyre
