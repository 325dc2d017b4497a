#include "comm/call_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gyre {
namespace {

// One message of an all-to-all-v.
Call message_of(const Call& call, CallKind kind, std::size_t peer) {
  const BlockTable& blocks = *call.blocks;
  const std::uint64_t element = size_of(call.type);
  Call one = call;
  one.kind = kind;
  one.root = static_cast<int>(peer);
  one.blocks = nullptr;
  if (kind == CallKind::send) {
    one.count = blocks.send_counts[peer];
    one.input = call.input + blocks.send_offsets[peer] * element;
  } else {
    one.count = blocks.receive_counts[peer];
    one.output = call.output + blocks.receive_offsets[peer] * element;
  }
  return one;
}

std::vector<Extent> blocks_of(const std::vector<std::uint64_t>& offsets,
                              const std::vector<std::uint64_t>& counts) {
  std::vector<Extent> extents;
  for (std::size_t peer = 0; peer < counts.size(); ++peer) {
    if (counts[peer] != 0) extents.push_back({offsets[peer], counts[peer]});
  }
  return extents;
}

std::vector<Extent> whole(std::uint64_t count) {
  if (count == 0) return {};
  return {{0, count}};
}

}  // namespace

Roles roles_of(const Call& call, int rank) {
  const bool at_root = !has_root(call.kind) || call.root == rank;
  Roles roles;
  roles.reads = call.kind != CallKind::receive &&
                (at_root || call.kind == CallKind::reduce || call.kind == CallKind::gather);
  roles.writes = call.kind != CallKind::send &&
                 (at_root || call.kind == CallKind::broadcast || call.kind == CallKind::scatter);
  return roles;
}

std::uint64_t Footprint::end(std::span<const Extent> extents) {
  std::uint64_t last = 0;
  for (const Extent& extent : extents) last = std::max(last, extent.offset + extent.count);
  return last;
}

Footprint footprint_of(const Call& call, int rank, int world) {
  const std::uint64_t all = call.count * static_cast<std::uint64_t>(world);
  const auto own = static_cast<std::size_t>(rank);
  Footprint print;
  switch (call.kind) {
    case CallKind::all_reduce:
    case CallKind::reduce:
    case CallKind::broadcast:
      print = {whole(call.count), whole(call.count), true};
      break;
    case CallKind::all_gather:
    case CallKind::gather:
      print = {whole(call.count), whole(all)};
      break;
    case CallKind::reduce_scatter:
    case CallKind::scatter:
      print = {whole(all), whole(call.count)};
      break;
    case CallKind::all_to_all:
      print = {whole(all), whole(all)};
      break;
    case CallKind::send:
    case CallKind::receive:
      print = {whole(call.count), whole(call.count)};
      break;
    case CallKind::all_to_all_v:
      print = {blocks_of(call.blocks->send_offsets, call.blocks->send_counts),
               blocks_of(call.blocks->receive_offsets, call.blocks->receive_counts)};
      break;
    case CallKind::all_gather_v:
      print = {whole(call.blocks->receive_counts[own]),
               blocks_of(call.blocks->receive_offsets, call.blocks->receive_counts)};
      break;
    case CallKind::reduce_scatter_v:
      print = {blocks_of(call.blocks->send_offsets, call.blocks->send_counts),
               whole(call.blocks->send_counts[own])};
      break;
  }
  const Roles roles = roles_of(call, rank);
  if (!roles.reads) print.input.clear();
  if (!roles.writes) print.output.clear();
  return print;
}

bool is_empty(const Call& call) {
  if (is_message(call) || call.kind == CallKind::all_to_all_v) return false;
  if (call.blocks == nullptr) return call.count == 0;
  const auto& counts = call.kind == CallKind::reduce_scatter_v ? call.blocks->send_counts
                                                               : call.blocks->receive_counts;
  return std::all_of(counts.begin(), counts.end(), [](std::uint64_t n) { return n == 0; });
}

std::uint64_t sent_elements(const Call& call, int world) {
  if (call.blocks == nullptr) return call.count * static_cast<std::uint64_t>(world);
  const BlockTable& blocks = *call.blocks;
  std::uint64_t elements = 0;
  for (std::size_t peer = 0; peer < blocks.send_counts.size(); ++peer) {
    elements = std::max(elements, blocks.send_offsets[peer] + blocks.send_counts[peer]);
  }
  return elements;
}

void find_messages(const Call& call, int rank, int world, std::vector<Call>& messages) {
  messages.clear();
  const auto n = static_cast<std::size_t>(world);
  const auto self = static_cast<std::size_t>(rank);
  for (std::size_t round = 1; round < n; ++round) {
    messages.push_back(message_of(call, CallKind::send, (self + round) % n));
    messages.push_back(message_of(call, CallKind::receive, (self + n - round) % n));
  }
  messages.push_back(message_of(call, CallKind::send, self));
  messages.push_back(message_of(call, CallKind::receive, self));
}

Result<void> check_messages_to_self(int rank, std::span<const Call* const> sends,
                                    std::span<const Call* const> receives) {
  if (sends.size() != receives.size()) {
    return Error{Status::invalid_usage,
                 fmt::format("rank {} has {} sends to itself and {} receives from itself in one "
                             "group; each needs its match in the same group",
                             rank, sends.size(), receives.size())};
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Call& send = *sends[i];
    const Call& receive = *receives[i];
    if (send.count != receive.count || send.type != receive.type) {
      return Error{
          Status::invalid_usage,
          fmt::format("rank {} sends {} x {} to itself but receives {} x {}", rank, send.count,
                      name_of(send.type), receive.count, name_of(receive.type))};
    }
  }
  return {};
}

}  // namespace gyre
