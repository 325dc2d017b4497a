#include "simulate/message.hpp"

#include <algorithm>

namespace gyre::sim {
namespace {

constexpr std::uint64_t kLine = 64;  // the planner cuts whole cache lines

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

bool is_tiled(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == all_reduce || kind == broadcast || kind == reduce || kind == message;
}

// Equal slices of at most `most`, whole lines each.
std::uint64_t even_slice(std::uint64_t bytes, std::uint64_t most) {
  if (bytes == 0) return most;
  return std::min(most, divide_up(divide_up(bytes, divide_up(bytes, most)), kLine) * kLine);
}

// Bytes of the longest chunk if it were cut into one tile.
std::uint64_t chunk_bytes(CollectiveKind kind, std::uint64_t bytes, const Program& program) {
  return is_tiled(kind) ? divide_up(bytes, program.input_chunks) : bytes / program.world;
}

Layout layout_of(CollectiveKind kind, std::uint64_t bytes, std::uint32_t chunks,
                 std::uint32_t world, std::uint64_t slice) {
  Layout layout;
  layout.kind = is_tiled(kind) ? Layout::Kind::tiled : Layout::Kind::blocked;
  layout.chunks = chunks;
  layout.count = is_tiled(kind) ? bytes : bytes / world;
  layout.stride = layout.count;
  layout.slice = slice;
  return layout;
}

Message cut(CollectiveKind kind, std::uint64_t bytes, const Program& program, std::uint64_t slice) {
  Message message;
  message.input = layout_of(kind, bytes, program.input_chunks, program.world, slice);
  message.output = layout_of(kind, bytes, program.output_chunks, program.world, slice);
  message.tiles = message.input.tiles();
  return message;
}

}  // namespace

Message message_of(CollectiveKind kind, std::uint64_t bytes, const Program& program,
                   std::uint64_t slot_bytes) {
  const std::uint64_t most = std::max(kLine, slot_bytes / kLine * kLine);
  return cut(kind, bytes, program, even_slice(chunk_bytes(kind, bytes, program), most));
}

Message message_in_one_tile(CollectiveKind kind, std::uint64_t bytes, const Program& program) {
  return cut(kind, bytes, program, std::max<std::uint64_t>(1, chunk_bytes(kind, bytes, program)));
}

}  // namespace gyre::sim
