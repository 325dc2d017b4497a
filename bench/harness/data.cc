#include "bench/harness/data.hpp"

#include <algorithm>
#include <cstring>

#include "bench/harness/compare.hpp"

namespace gyre::bench {
namespace {

std::byte* at(void* base, std::size_t offset) { return static_cast<std::byte*>(base) + offset; }

// The input of the rank, in host memory that is or becomes the device's buffer at `target`.
void write_input(const Collective& collective, const DataCase& data, Rank& rank,
                 std::byte* target) {
  if (rank.device->is_host()) {
    collective.input(data, target);
    return;
  }
  // Off-root ranks of some operations write no input at all: keep what the device has.
  const std::size_t bytes = data.counts.send * data.element;
  rank.device->copy(rank.buffers.staging.get(), target, bytes);
  collective.input(data, rank.buffers.staging.get());
  rank.device->copy(target, rank.buffers.staging.get(), bytes);
}

void clear(Rank& rank, std::byte* target, std::size_t bytes) {
  if (rank.device->is_host()) {
    std::memset(target, 0, bytes);
    return;
  }
  std::memset(rank.buffers.staging.get(), 0, bytes);
  rank.device->copy(target, rank.buffers.staging.get(), bytes);
}

}  // namespace

void prepare_data(const Collective& collective, const DataCase& data, const Placement& placement,
                  Rank& rank, bool with_expected) {
  const Counts& counts = data.counts;
  const auto number = static_cast<std::size_t>(data.rank);
  std::byte* send = at(rank.buffers.send_base, placement.unalign);
  std::byte* receive = at(rank.buffers.receive_base, placement.unalign);
  const std::size_t result_bytes = counts.receive * data.element;
  rank.device->select();
  clear(rank, receive, result_bytes);
  write_input(collective, data, rank,
              placement.in_place ? receive + counts.send_in_place * number * data.element : send);
  if (!with_expected) return;
  std::byte* result =
      receive + (placement.in_place ? counts.receive_in_place * number * data.element : 0);
  rank.device->copy(rank.buffers.expected.get(), result, result_bytes);
  collective.expected(data, rank.buffers.expected.get());
}

std::int64_t check_data(const DataCase& data, const Placement& placement, Rank& rank) {
  const std::size_t offset =
      placement.unalign +
      (placement.in_place
           ? data.counts.receive_in_place * static_cast<std::size_t>(data.rank) * data.element
           : 0);
  const std::byte* result = at(rank.buffers.receive_base, offset);
  rank.device->select();
  if (!rank.device->is_host()) {
    rank.device->copy(rank.buffers.staging.get(), result, data.counts.receive * data.element);
    result = rank.buffers.staging.get();
  }
  return count_wrong(result, rank.buffers.expected.get(), data.counts.receive, data.type, data.op);
}

void touch_buffers(Rank& rank) {
  if (!rank.device->is_host()) return;
  std::memset(rank.buffers.send_base, 0, rank.buffers.bytes);
  std::memset(rank.buffers.receive_base, 0, rank.buffers.bytes);
  if (rank.buffers.expected) std::memset(rank.buffers.expected.get(), 0, rank.buffers.bytes);
}

}  // namespace gyre::bench
