// Copies that go past the caches.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/stream.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/cache_lines.hpp"
#include "kernels/host/reduce.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whole lines only: a line that is streamed in parts is read and written again for each.
void stream_lines(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  const hn::ScalableTag<std::uint8_t> tag;
  const std::size_t step = hn::Lanes(tag);
  const auto* from = reinterpret_cast<const std::uint8_t*>(source);
  auto* to = reinterpret_cast<std::uint8_t*>(target);
  for (std::uint64_t at = 0; at < bytes; at += step) {
    hn::Stream(hn::LoadU(tag, from + at), tag, to + at);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {
namespace host {

HWY_EXPORT(stream_lines);

void stream_lines_on_best_target(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream_lines)(target, source, bytes);
}

}  // namespace host

void copy_streaming(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  const auto past = reinterpret_cast<std::uintptr_t>(target) % kCacheLine;
  const std::uint64_t head = std::min<std::uint64_t>(past == 0 ? 0 : kCacheLine - past, bytes);
  const std::uint64_t lines = (bytes - head) / kCacheLine * kCacheLine;
  const std::uint64_t tail = bytes - head - lines;
  if (head > 0) std::memcpy(target, source, head);
  if (lines > 0) host::stream_lines_on_best_target(target + head, source + head, lines);
  if (tail > 0) std::memcpy(target + head + lines, source + head + lines, tail);
}

void finish_streaming() { hwy::FlushStream(); }

}  // namespace gyre
#endif
