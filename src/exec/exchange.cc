#include "exec/exchange.hpp"

namespace gyre {
namespace {

// From the next rank on, so that not everybody sends to the same one first.
PeerRange everyone(std::uint32_t rank, std::uint32_t world) {
  return {static_cast<std::uint16_t>((rank + 1) % world), static_cast<std::uint16_t>(world)};
}
PeerRange only(std::uint32_t rank) { return {static_cast<std::uint16_t>(rank), 1}; }
constexpr PeerRange kNobody{};

}  // namespace

bool is_exchange(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
    case CallKind::reduce_scatter:
    case CallKind::all_gather:
    case CallKind::all_to_all:
    case CallKind::broadcast:
    case CallKind::reduce:
    case CallKind::gather:
    case CallKind::scatter:
      return true;
    default:
      return false;
  }
}

Exchange exchange_of(const Call& call, std::uint64_t bytes, std::uint32_t rank,
                     std::uint32_t world) {
  const auto root = static_cast<std::uint32_t>(call.root);
  const bool at_root = rank == root;
  const PeerRange all = everyone(rank, world);
  const PeerRange to_root = at_root ? kNobody : only(root), of_root = at_root ? all : kNobody;
  switch (call.kind) {
    case CallKind::all_reduce:
      return {.to = all, .from = all, .folds = true};
    case CallKind::reduce_scatter:
      return {.to = all, .from = all, .input_stride = bytes, .folds = true};
    case CallKind::reduce:
      return {.to = to_root, .from = of_root, .folds = at_root};
    case CallKind::all_gather:
      return {.to = all, .from = all, .output_stride = bytes, .keeps = true};
    case CallKind::all_to_all:
      return {.to = all, .from = all, .input_stride = bytes, .output_stride = bytes, .keeps = true};
    case CallKind::broadcast:
      return {.to = of_root, .from = to_root, .keeps = at_root};
    case CallKind::gather:
      return {.to = to_root, .from = of_root, .output_stride = bytes, .keeps = at_root};
    case CallKind::scatter:
      return {.to = of_root, .from = to_root, .input_stride = bytes, .keeps = at_root};
    default:
      return {};
  }
}

}  // namespace gyre
