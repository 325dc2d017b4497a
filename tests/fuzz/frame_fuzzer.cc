// The frame decoder: the same frames whatever the pieces in which the bytes arrive, and each frame
// encodes to the bytes it came from.
#include <algorithm>
#include <vector>

#include "bootstrap/frame.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

namespace {

constexpr std::size_t kMaxPayload = 1 << 12;

struct Decoded {
  std::vector<gyre::Frame> frames;
  bool failed = false;
};

Decoded decode_in_pieces(std::span<const std::byte> input, std::size_t piece) {
  gyre::FrameDecoder decoder(kMaxPayload);
  Decoded result;
  while (!input.empty() && !result.failed) {
    const auto part = input.first(std::min(piece, input.size()));
    input = input.subspan(part.size());
    decoder.feed(part);
    for (;;) {
      auto frame = decoder.next();
      result.failed = !frame;
      if (!frame || !*frame) break;
      gyre::fuzz::require((*frame)->payload.size() <= kMaxPayload);
      result.frames.push_back(std::move(**frame));
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 37 + 1U;
  const auto input = gyre::fuzz::bytes(data + 1, size - 1);
  const Decoded whole = decode_in_pieces(input, input.size() + 1);
  const Decoded pieces = decode_in_pieces(input, piece);
  gyre::fuzz::require(whole.frames == pieces.frames && whole.failed == pieces.failed);
  std::size_t offset = 0;
  for (const gyre::Frame& frame : whole.frames) {
    const auto encoded = gyre::encode(frame.type, frame.sequence, frame.payload);
    gyre::fuzz::require(offset + encoded->size() <= input.size());
    gyre::fuzz::require(std::equal(encoded->begin(), encoded->end(),
                                   input.begin() + static_cast<std::ptrdiff_t>(offset)));
    offset += encoded->size();
  }
  return 0;
}
