// From calls to errands, for ranks on a device whose kernels do not reach their peers.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/process_end.hpp"
#include "comm/call_shapes.hpp"
#include "comm/communicator.hpp"
#include "comm/device_rank.hpp"
#include "comm/errands.hpp"

namespace gyre {
namespace {

constexpr std::uint64_t kRoomAlignment = 256;
constexpr std::uint32_t kErrandThreads = 32;  // of which one is needed

// Where the copies of a call's input, output and factor lie in an errand's room, in bytes.
struct Copies {
  Footprint print;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  std::uint64_t scalar = 0;
};

// Their places from `at` on; moves it behind them.
Copies copies_of(const Call& call, int rank, int world, std::uint64_t& at) {
  const std::uint64_t element = size_of(call.type);
  const auto take = [&](std::uint64_t bytes) {
    return std::exchange(at, at + round_up(bytes, kRoomAlignment));
  };
  Copies copies;
  copies.print = footprint_of(call, rank, world);
  const std::uint64_t input = Footprint::end(copies.print.input) * element;
  const std::uint64_t output = Footprint::end(copies.print.output) * element;
  copies.input = take(copies.print.in_place ? std::max(input, output) : input);
  copies.output = copies.print.in_place ? copies.input : take(output);
  if (call.scalar != nullptr) copies.scalar = take(element);
  return copies;
}

// The call as the host runs it.
Call in_room(const Call& call, const Copies& copies, std::byte* room) {
  Call one = call;
  one.input = room + copies.input;
  one.output = room + copies.output;
  if (call.scalar != nullptr) one.scalar = room + copies.scalar;
  return one;
}

std::vector<HostCopy> copies_between(std::byte* to, const std::byte* from,
                                     std::span<const Extent> extents, DataType type) {
  const std::uint64_t element = size_of(type);
  std::vector<HostCopy> copies;
  for (const Extent& extent : extents) {
    const std::uint64_t at = extent.offset * element;
    copies.push_back({to + at, from + at, extent.count * element});
  }
  return copies;
}

// Of memory that a vendor pinned, and unmaps when the process ends.
Result<void> copy_within_host(std::span<const HostCopy> copies) {
  if (copies.empty()) return {};
  const ProcessEnd::Work work;
  if (!work) return Error{Status::aborted, "the process ends"};
  for (const HostCopy& one : copies) std::memcpy(one.to, one.from, one.bytes);
  return {};
}

void append(std::vector<HostCopy>& all, const std::vector<HostCopy>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Result<void> Communicator::open_errands() {
  GYRE_TRY(device_->open_apart());
  // One that cannot be stopped keeps the communicator that it uses.
  const auto run = [weak = weak_from_this()](const Errand& errand) {
    if (const auto self = weak.lock()) self->run_errand(errand);
  };
  GYRE_TRY_ASSIGN(errands_, Errands::create(device_->backend(), device_->ordinal(), run));
  log_info(Subsystem::init,
           "rank {} of {}: {} device {}; its kernels do not reach all peers, so that its calls run "
           "on the host, on copies of their buffers",
           rank_, world_, device_->backend().name, device_->ordinal());
  return {};
}

void Communicator::run_errand(const Errand& errand) {
  const Result<void> done = contained("running an errand", [&]() -> Result<void> {
    GYRE_TRY(copy_within_host(errand.before));
    GYRE_TRY_ASSIGN(Drive one, begin(errand.calls, errand.is_first));
    drive(std::span(&one, 1));
    end(one);
    GYRE_TRY(std::move(one.result));
    return copy_within_host(errand.after);
  });
  if (!done) broke(done.error());
}

// Collectives one by one, since one may read what the one before wrote; all messages together.
Result<void> Communicator::enqueue_errands(std::span<const Call> calls, gyreStream_t stream) {
  std::vector<Call> messages;
  bool is_first = true;
  for (const Call& call : calls) {
    if (is_message(call)) {
      messages.push_back(call);
    } else {
      GYRE_TRY(enqueue_or_break({&call, 1}, std::exchange(is_first, false), stream));
    }
  }
  if (messages.empty()) return {};
  GYRE_TRY(enqueue_self_copies(messages, stream));
  std::erase_if(messages, [&](const Call& message) { return message.root == rank_; });
  return messages.empty() ? Result<void>() : enqueue_or_break(messages, is_first, stream);
}

// The peers will wait for a call that could not be enqueued.
Result<void> Communicator::enqueue_or_break(std::span<const Call> calls, bool is_first,
                                            gyreStream_t stream) {
  Result<void> enqueued = enqueue_errand(calls, is_first, stream);
  if (!enqueued) stop(enqueued.error());
  return enqueued;
}

// The buffers' contents to the room, the kernel that waits for the errand's end, and back. What is
// host memory the errand copies itself: the vendors' copies within the host would be waited for.
Result<void> Communicator::enqueue_errand(std::span<const Call> calls, bool is_first,
                                          gyreStream_t stream) {
  Errand errand;
  errand.captured = device_->is_captured();
  errand.is_first = is_first;
  std::uint64_t bytes = 0;
  std::vector<Copies> copies;
  for (const Call& call : calls) copies.push_back(copies_of(call, rank_, world_, bytes));
  GYRE_TRY_ASSIGN(errand.room, errands_->room(bytes));
  std::byte* const room = errand.room == nullptr ? nullptr : errand.room->data();
  std::vector<HostCopy> to_room;
  std::vector<HostCopy> from_room;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const Copies& own = copies[i];
    errand.calls.push_back(in_room(call, own, room));
    append(device_->is_on_host(call.input) ? errand.before : to_room,
           copies_between(room + own.input, call.input, own.print.input, call.type));
    append(device_->is_on_host(call.output) ? errand.after : from_room,
           copies_between(call.output, room + own.output, own.print.output, call.type));
    if (call.scalar == nullptr) continue;
    (device_->is_on_host(call.scalar) ? errand.before : to_room)
        .push_back(
            {room + own.scalar, static_cast<const std::byte*>(call.scalar), size_of(call.type)});
  }
  GYRE_TRY(copy_on_stream(to_room, stream));
  GYRE_TRY(launch_errand(std::move(errand), stream));
  return copy_on_stream(from_room, stream);
}

Result<void> Communicator::launch_errand(Errand errand, gyreStream_t stream) {
  device::Launch launch;
  launch.chains = 1;
  launch.channels = 1;
  launch.errand = errands_->add(std::move(errand));
  Result<void> launched = device_->launch(device::kErrandKernel, launch, kErrandThreads, stream);
  if (!launched) errands_->drop(launch.errand);
  return launched;
}

Result<void> Communicator::copy_on_stream(std::span<const HostCopy> copies, gyreStream_t stream) {
  for (const HostCopy& one : copies) {
    GYRE_TRY(device_->copy(one.to, one.from, one.bytes, stream));
  }
  return {};
}

}  // namespace gyre
