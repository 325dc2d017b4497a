// From calls to errands, for ranks on a device whose kernels do not reach their peers.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "comm/call_shapes.hpp"
#include "comm/communicator.hpp"
#include "comm/device_rank.hpp"
#include "comm/errands.hpp"

namespace gyre {
namespace {

constexpr std::uint64_t kRoomAlignment = 256;

// Where the copies of a call's input, output and factor lie in an errand's room, in bytes. What is
// on the host needs none.
struct Copies {
  Footprint print;
  std::optional<std::uint64_t> input, output, scalar;
};

// Their places from `at` on; moves it behind them.
Copies copies_of(const Call& call, int rank, int world, const DeviceRank& device,
                 std::uint64_t& at) {
  const std::uint64_t element = size_of(call.type);
  const auto take = [&](std::uint64_t bytes) {
    return std::exchange(at, at + round_up(bytes, kRoomAlignment));
  };
  const auto is_copied = [&](const void* buffer, std::uint64_t bytes) {
    return buffer != nullptr && bytes != 0 && !device.is_on_host(buffer);
  };
  Copies copies;
  copies.print = footprint_of(call, rank, world);
  const std::uint64_t input = Footprint::end(copies.print.input) * element;
  const std::uint64_t output = Footprint::end(copies.print.output) * element;
  const bool reads = is_copied(call.input, input);
  if (reads) copies.input = take(copies.print.in_place ? std::max(input, output) : input);
  if (is_copied(call.output, output)) {
    copies.output = reads && copies.print.in_place ? copies.input : take(output);
  }
  if (is_copied(call.scalar, element)) copies.scalar = take(element);
  return copies;
}

// The call as the host runs it.
Call in_room(const Call& call, const Copies& copies, std::byte* room) {
  Call one = call;
  if (copies.input) one.input = room + *copies.input;
  if (copies.output) one.output = room + *copies.output;
  if (copies.scalar) one.scalar = room + *copies.scalar;
  return one;
}

}  // namespace

Result<void> Communicator::open_errands() {
  GYRE_TRY(device_->open_apart());
  const auto run_errand = [this](std::span<const Call> calls) {
    const Result<void> done = contained("running an errand", [&]() -> Result<void> {
      if (!calls.empty()) return run(calls);
      return Error{Status::internal, "a kernel left an errand that nobody knows"};
    });
    if (!done) broke(done.error());
  };
  GYRE_TRY_ASSIGN(errands_, Errands::create(device_->backend(), device_->ordinal(), run_errand));
  abort_.on_raise([this] { device_->abort(); });
  log_info(Subsystem::init,
           "rank {} of {}: {} device {}; its kernels do not reach all peers, so that its calls run "
           "on the host, on copies of their buffers",
           rank_, world_, device_->backend().name, device_->ordinal());
  return {};
}

// Collectives one by one, since one may read what the one before wrote; all messages together.
Result<void> Communicator::enqueue_errands(std::span<const Call> calls, gyreStream_t stream) {
  std::vector<Call> messages;
  for (const Call& call : calls) {
    if (is_message(call)) {
      messages.push_back(call);
    } else {
      GYRE_TRY(enqueue_errand({&call, 1}, stream));
    }
  }
  if (messages.empty()) return {};
  GYRE_TRY(enqueue_self_copies(messages, stream));
  std::erase_if(messages, [&](const Call& message) { return message.root == rank_; });
  return messages.empty() ? Result<void>() : enqueue_errand(messages, stream);
}

// The buffers' contents to the room, the kernel that waits for the errand's end, and back.
Result<void> Communicator::enqueue_errand(std::span<const Call> calls, gyreStream_t stream) {
  const bool captured = device_->is_captured();
  std::uint64_t bytes = 0;
  std::vector<Copies> copies;
  for (const Call& call : calls) copies.push_back(copies_of(call, rank_, world_, *device_, bytes));
  GYRE_TRY_ASSIGN(std::byte* const room, errands_->room(bytes, captured));
  std::vector<Call> moved;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const auto& [print, input, output, scalar] = copies[i];
    moved.push_back(in_room(call, copies[i], room));
    if (input) GYRE_TRY(copy_extents(room + *input, call.input, print.input, call.type, stream));
    if (!scalar) continue;
    const auto* factor = static_cast<const std::byte*>(call.scalar);
    GYRE_TRY(device_->copy(room + *scalar, factor, size_of(call.type), stream));
  }
  GYRE_TRY(launch_errand(std::move(moved), captured, stream));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const auto& [print, input, output, scalar] = copies[i];
    if (!output) continue;
    GYRE_TRY(copy_extents(call.output, room + *output, print.output, call.type, stream));
  }
  return {};
}

Result<void> Communicator::launch_errand(std::vector<Call> calls, bool captured,
                                         gyreStream_t stream) {
  device::Launch launch;
  launch.chains = 1;
  launch.channels = 1;
  launch.errand = errands_->add(std::move(calls), captured);
  Result<void> launched = device_->launch(device::kErrandKernel, launch, device::kThreads, stream);
  if (!launched) errands_->drop(launch.errand);
  return launched;
}

Result<void> Communicator::copy_extents(std::byte* to, const std::byte* from,
                                        std::span<const Extent> extents, DataType type,
                                        gyreStream_t stream) {
  const std::uint64_t element = size_of(type);
  for (const Extent& extent : extents) {
    const std::uint64_t at = extent.offset * element;
    GYRE_TRY(device_->copy(to + at, from + at, extent.count * element, stream));
  }
  return {};
}

}  // namespace gyre
