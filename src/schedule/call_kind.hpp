// The kinds of calls; also for device code.
#pragma once

#include <cstdint>
#include <string_view>

namespace gyre {

enum class CallKind : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  send,
  receive,
  all_to_all_v,
  all_gather_v,
  reduce_scatter_v,
};

constexpr std::string_view name_of(CallKind kind) {
  constexpr std::string_view kNames[] = {
      "AllReduce", "Reduce", "Broadcast", "AllGather", "ReduceScatter", "AlltoAll",      "Gather",
      "Scatter",   "Send",   "Recv",      "AlltoAllv", "AllGatherv",    "ReduceScatterv"};
  return kNames[static_cast<int>(kind)];
}

constexpr bool reduces(CallKind kind) {
  return kind == CallKind::all_reduce || kind == CallKind::reduce ||
         kind == CallKind::reduce_scatter || kind == CallKind::reduce_scatter_v;
}

constexpr bool has_root(CallKind kind) {
  return kind == CallKind::reduce || kind == CallKind::broadcast || kind == CallKind::gather ||
         kind == CallKind::scatter;
}

}  // namespace gyre
