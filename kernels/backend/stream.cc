// Streams and events. Waits and queries keep no other thread's capture from going on.
#include <cstdint>

#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"

namespace gyre::gpu {
namespace {

// The null stream and the vendors' two special handles: nobody created them, nobody may end them.
bool is_special(gyreStream_t stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

gyreResult make_event(int ordinal, gyreEvent_t* event, unsigned flags) {
  return on_device(ordinal, [&] {
    Event made = nullptr;
    const Code code = event_make(&made, flags);
    if (code == kOk) *event = reinterpret_cast<gyreEvent_t>(made);
    return finish(code, "EventCreateWithFlags", ordinal);
  });
}

}  // namespace

gyreResult stream_create(int ordinal, gyreStream_t* stream) noexcept {
  return beside_captures(ordinal, [&] {
    Stream made = nullptr;
    // Else its work would wait for the null stream's, which may be anybody's.
    const Code code = stream_make(&made, kStreamNonBlocking);
    if (code == kOk) *stream = reinterpret_cast<gyreStream_t>(made);
    return finish(code, "StreamCreateWithFlags", ordinal);
  });
}

gyreResult stream_destroy(int ordinal, gyreStream_t stream) noexcept {
  if (is_special(stream)) return gyreSuccess;
  return beside_captures(ordinal, [&] {
    const auto result = finish(stream_wait(native(stream)), "StreamSynchronize", ordinal);
    const Code code = stream_end(native(stream));
    if (result != gyreSuccess) {
      (void)take_last_error();
      return result;
    }
    return finish(code, "StreamDestroy", ordinal);
  });
}

gyreResult stream_synchronize(int ordinal, gyreStream_t stream) noexcept {
  return beside_captures(
      ordinal, [&] { return finish(stream_wait(native(stream)), "StreamSynchronize", ordinal); });
}

gyreResult stream_query(int ordinal, gyreStream_t stream) noexcept {
  return beside_captures(
      ordinal, [&] { return finish(stream_done(native(stream)), "StreamQuery", ordinal); });
}

gyreResult stream_wait_event(int ordinal, gyreStream_t stream, gyreEvent_t event) noexcept {
  return on_device(ordinal, [&] {
    return finish(stream_await(native(stream), native(event), 0), "StreamWaitEvent", ordinal);
  });
}

gyreResult stream_capture(int ordinal, gyreStream_t stream, uint64_t* capture) noexcept {
  *capture = 0;
  return on_device(ordinal, [&] {
    CaptureStatus status = kCaptureNone;
    unsigned long long number = 0;
    const Code code = stream_capture_of(native(stream), &status, &number);
    // The null stream is never captured itself; another stream is, and would not let it work.
    if (code == kCaptureImplicit) {
      (void)take_last_error();
      return gyreSuccess;
    }
    if (code != kOk) return failure(code, "StreamGetCaptureInfo", ordinal);
    if (status == kCaptureActive) *capture = number;
    if (status == kCaptureActive || status == kCaptureNone) return gyreSuccess;
    return refuse(gyreErrorWork,
                  "the capture of the stream has failed: an earlier call was not allowed in it");
  });
}

gyreResult stream_identity(int ordinal, gyreStream_t stream, uint64_t* identity) noexcept {
  *identity = 0;
  return on_device(ordinal, [&] {
    unsigned long long number = 0;
    const Code code = stream_number(native(stream), &number);
    if (code != kOk) return failure(code, "StreamGetId", ordinal);
    *identity = number;
    return gyreSuccess;
  });
}

gyreResult event_create(int ordinal, gyreEvent_t* event) noexcept {
  return make_event(ordinal, event, kEventTimed);
}

gyreResult event_create_untimed(int ordinal, gyreEvent_t* event) noexcept {
  return make_event(ordinal, event, kEventUntimed);
}

gyreResult event_destroy(int ordinal, gyreEvent_t event) noexcept {
  return on_device(ordinal,
                   [&] { return finish(event_end(native(event)), "EventDestroy", ordinal); });
}

gyreResult event_record(int ordinal, gyreEvent_t event, gyreStream_t stream) noexcept {
  return on_device(ordinal, [&] {
    return finish(event_mark(native(event), native(stream)), "EventRecord", ordinal);
  });
}

gyreResult event_synchronize(int ordinal, gyreEvent_t event) noexcept {
  return beside_captures(
      ordinal, [&] { return finish(event_wait(native(event)), "EventSynchronize", ordinal); });
}

gyreResult event_query(int ordinal, gyreEvent_t event) noexcept {
  return beside_captures(ordinal,
                         [&] { return finish(event_done(native(event)), "EventQuery", ordinal); });
}

gyreResult event_elapsed_ms(int ordinal, gyreEvent_t begin, gyreEvent_t end,
                            float* milliseconds) noexcept {
  return beside_captures(ordinal, [&] {
    return finish(event_milliseconds(milliseconds, native(begin), native(end)), "EventElapsedTime",
                  ordinal);
  });
}

}  // namespace gyre::gpu
