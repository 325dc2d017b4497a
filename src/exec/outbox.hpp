// Slots in memory that every peer can map: what goes to several ranks is written once, and each
// reads it there, instead of a copy for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/store_route.hpp"
#include "transport/transport.hpp"

namespace gyre {

// One thread at a time. No allocation after the first take().
class Outbox {
 public:
  Outbox(std::uint32_t slots, std::uint64_t slot_bytes, std::size_t links);
  // Waits for nobody: what is not read yet is left to its readers, who may come much later, when
  // this communicator is long gone.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // The next slot, or null: somebody has yet to read it, or there is no memory.
  std::byte* take();
  // The slot given out last is about to be sent on `link`.
  void sent(Link& link);
  StoreRoute& route() { return route_; }

 private:
  struct Reader {
    Link* link;
    std::uint64_t until;  // position after the message that refers to the slot
  };
  static bool read_by_all(const std::vector<Reader>& readers);
  bool all_read() const;
  bool allocate();

  const std::uint64_t slot_bytes_;
  std::vector<std::vector<Reader>> readers_;  // by slot
  std::size_t next_ = 0;
  std::size_t latest_ = 0;
  std::byte* memory_ = nullptr;
  bool refused_ = false;
  StoreRoute route_;  // into the slots
};

}  // namespace gyre
