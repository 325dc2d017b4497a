// What of a call every kernel is told, whatever runs it.
#pragma once

#include <cstdint>

#include "kernels/device/work.hpp"
#include "schedule/call.hpp"

namespace gyre {

inline device::Work device_work(const Call& call, std::uint64_t number, int world) {
  device::Work work;
  work.input = call.input;
  work.output = call.output;
  work.scalar = call.scalar;
  work.fold.type = call.type;
  work.fold.op = call.op;
  work.fold.scale = call.scale;
  work.fold.scale_bits = call.scale_bits;
  work.fold.ranks = world;
  work.stamp = CallStamp::of(call.count, number).value;
  work.tag = CallTag::of(call).value;
  work.element_bytes = static_cast<std::uint32_t>(size_of(call.type));
  work.reducing = reduces(call.kind);
  return work;
}

}  // namespace gyre
