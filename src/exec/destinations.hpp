// Everywhere that the value of one step is written: the output, slots, places of peers. All of them
// from one pass over the operands, block by block, so that the copies read what is still in the
// first-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/store_route.hpp"
#include "kernels/host/reduce.hpp"

namespace gyre {

class Destinations {
 public:
  enum class How : std::uint8_t {
    stored,
    to_peer,   // memory that a peer has read: its lines are claimed ahead
    streamed,  // past the caches; no operand may lie there
  };

  // At most `most` at a time; nothing is allocated after this.
  explicit Destinations(std::size_t most) { all_.reserve(most); }

  void clear() { all_.clear(); }
  void add(std::byte* at, How how) { all_.push_back({at, how, nullptr}); }
  // Memory that a peer has read, for a value of `bytes`, the better of both ways there.
  void add_to_peer(std::byte* at, std::uint64_t bytes, StoreRoute& route) {
    const bool past = route.next(bytes) == StoreRoute::Way::past;
    all_.push_back({at, past ? How::streamed : How::to_peer, &route});
  }
  bool empty() const { return all_.empty(); }

  // The fold of `sources` to every destination. A destination may be equal to any source, no other
  // overlap. `sources` may be changed.
  void fold(const Fold& how, std::span<const std::byte*> sources, std::uint64_t elements) const;
  void copy(const std::byte* source, std::uint64_t bytes) const;

 private:
  struct Destination {
    std::byte* at;
    How how;
    StoreRoute* route;  // that is told how long it took, or null
  };
  static void write(const Destination& to, std::uint64_t offset, const std::byte* from,
                    std::uint64_t bytes);
  static void write_first(const Destination& to, const std::byte* from, std::uint64_t bytes);
  bool streams() const;
  bool all_stored() const;
  const Destination* first_not_streamed() const;

  std::vector<Destination> all_;
};

}  // namespace gyre
