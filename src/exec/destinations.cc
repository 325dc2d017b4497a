#include "exec/destinations.hpp"

#include <algorithm>

#include "base/cache_lines.hpp"

namespace gyre {
namespace {

// Two or three of them fit in a first-level cache beside what is read.
constexpr std::uint64_t kBlockBytes = 8 << 10;
// Of a long fold that is stored through the caches: so short that the core reads ahead in the
// operands while it copies. From memory, in-place all-reduces of 256 KiB to 16 MiB take three
// quarters of the time; from the caches, a twentieth more.
constexpr std::uint64_t kLongFoldBlock = 2 << 10;
constexpr std::uint64_t kLongFold = 64 << 10;

}  // namespace

void Destinations::write(const Destination& to, std::uint64_t offset, const std::byte* from,
                         std::uint64_t bytes) {
  switch (to.how) {
    case How::stored:
      return gyre::copy(to.at + offset, from, bytes);
    case How::to_peer:
      return copy_to_peer(to.at + offset, from, bytes);
    case How::streamed:
      return copy_streaming(to.at + offset, from, bytes);
  }
}

// The first block of a copy stands for the value. Folds are not measured: what they store directly
// takes the time of the arithmetic as well, which the other way would not be charged with.
void Destinations::write_first(const Destination& to, const std::byte* from, std::uint64_t bytes) {
  if (to.route == nullptr || bytes < StoreRoute::kLeastBytes) return write(to, 0, from, bytes);
  const Ticks began = ticks_now();
  write(to, 0, from, bytes);
  const bool past = to.how == How::streamed;
  // What is still on its way to memory has cost nothing yet.
  if (past) finish_streaming();
  to.route->took(past ? StoreRoute::Way::past : StoreRoute::Way::through, bytes,
                 ticks_now() - began);
}

bool Destinations::all_stored() const {
  return std::all_of(all_.begin(), all_.end(),
                     [](const Destination& to) { return to.how == How::stored; });
}

bool Destinations::streams() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const Destination& to) { return to.how == How::streamed; });
}

const Destinations::Destination* Destinations::first_not_streamed() const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [](const Destination& to) { return to.how != How::streamed; });
  return found == all_.end() ? nullptr : &*found;
}

void Destinations::copy(const std::byte* source, std::uint64_t bytes) const {
  const std::uint64_t most = all_.size() == 1 ? bytes : kBlockBytes;
  for (std::uint64_t offset = 0; offset < bytes; offset += most) {
    const std::uint64_t now = std::min(most, bytes - offset);
    for (const Destination& to : all_) {
      if (offset == 0) {
        write_first(to, source, now);
      } else {
        write(to, offset, source + offset, now);
      }
    }
  }
  if (streams()) finish_streaming();
}

void Destinations::fold(const Fold& how, std::span<const std::byte*> sources,
                        std::uint64_t elements) const {
  if (all_.size() == 1 && all_[0].how != How::streamed) {
    return gyre::fold(how, all_[0].at, sources, elements);
  }
  alignas(64) std::byte scratch[kBlockBytes];
  const Destination* made = first_not_streamed();
  const std::uint64_t element = size_of(how.type);
  const bool is_long = elements * element >= kLongFold && all_stored();
  const std::uint64_t most = (is_long ? kLongFoldBlock : kBlockBytes) / element;
  for (std::uint64_t begin = 0; begin < elements; begin += most) {
    const std::uint64_t count = std::min(most, elements - begin);
    const std::uint64_t offset = begin * element, bytes = count * element;
    std::byte* value = made == nullptr ? scratch : made->at + offset;
    if (made != nullptr && made->how == How::to_peer) claim_lines(value, bytes);
    gyre::fold(how, value, sources, count);
    for (const Destination& to : all_) {
      if (&to != made) write(to, offset, value, bytes);
    }
    for (const std::byte*& source : sources) source += bytes;
  }
  if (streams()) finish_streaming();
}

}  // namespace gyre
