// The lanes of a simulated run, and how a rank finds its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "schedule/step.hpp"
#include "simulate/machine.hpp"

namespace gyre::sim {

inline constexpr std::uint32_t kNobody = 0xffffffffU;

// One message's place.
struct Slot {
  double time = 0;   // when it was sent; once it is known, when it arrives
  double freed = 0;  // when the slot is the sender's again
  std::uint64_t bytes = 0;
};

// One from a rank to itself carries the tokens of one of its strands to the other. `used` messages
// lie in the lane from slot `head` on. The first `arrived` of them have a known time of arrival;
// the next one is on its way.
struct Lane {
  std::uint32_t from = 0, to = 0;
  std::uint32_t sender = kNobody, receiver = kNobody;  // strands, numbered over all ranks
  std::uint32_t head = 0, tail = 0;
  std::uint32_t used = 0, arrived = 0;
  std::uint32_t flow = kNobody;  // in the network, if it shares links
  bool data_awaited = false;     // its receiver waits for its first message
  bool slot_awaited = false;     // its sender waits for a free slot
  double free_at = 0;            // private: when its last message has left it
  LinkCost cost = {};
};

// Strand `strand` of a rank is number first_strand + strand.
struct RankProgram {
  Program program;
  std::uint32_t first_strand = 0;
};

class Lanes {
 public:
  // Lanes of all ranks, with their costs. Error: more than memory is meant for; a bad cost.
  static Result<Lanes> of(std::span<const RankProgram> ranks, const Machine& machine,
                          std::uint32_t slots);

  // The number of the lane to or from a peer. There must be one.
  std::uint32_t outgoing(std::uint32_t rank, std::uint32_t peer) {
    const std::uint32_t first = first_out_[rank];
    return first +
           find({out_peers_.data() + first, first_out_[rank + 1] - first}, peer, hints_[rank].out);
  }
  std::uint32_t incoming(std::uint32_t rank, std::uint32_t peer) {
    const std::uint32_t first = first_in_[rank];
    return in_lanes_[first + find({in_peers_.data() + first, first_in_[rank + 1] - first}, peer,
                                  hints_[rank].in)];
  }

  // That of the tokens that one of its two strands gives. There must be one.
  std::uint32_t tokens(std::uint32_t rank, std::uint32_t giver) const {
    return token_lanes_[rank][giver];
  }

  std::span<Lane> all() { return lanes_; }
  std::span<const Lane> all() const { return lanes_; }
  Lane& operator[](std::uint32_t lane) { return lanes_[lane]; }
  std::uint32_t slots() const { return slots_; }
  Slot& slot(std::uint32_t lane, std::uint32_t index) {
    return slot_table_[std::size_t{lane} * slots_ + index];
  }
  std::uint32_t after(std::uint32_t index) const { return index + 1 == slots_ ? 0 : index + 1; }

 private:
  // One side of a lane, as a program names it.
  struct End {
    std::uint32_t from, to, strand;
    bool sends;
  };
  // Where the last look-up ended: programs walk along their peers.
  struct Hint {
    std::uint32_t out = 0, in = 0;
  };

  static Result<std::vector<End>> list_ends(std::span<const RankProgram> ranks,
                                            std::uint32_t slots);
  void add_token_lanes(std::span<const RankProgram> ranks);
  void merge(std::span<const End> ends, std::uint32_t world);
  void index_receivers(std::uint32_t world);
  static std::uint32_t find(std::span<const std::uint32_t> peers, std::uint32_t peer,
                            std::uint32_t& hint);

  std::uint32_t slots_ = 0;
  std::vector<Lane> lanes_;  // by sender, then receiver; those of tokens last
  std::vector<Slot> slot_table_;
  std::vector<std::uint32_t> first_out_, out_peers_;           // rank -> its peers, rising
  std::vector<std::uint32_t> first_in_, in_peers_, in_lanes_;  // likewise, and their lanes
  std::vector<Hint> hints_;
  std::vector<std::array<std::uint32_t, kMaxStrands>> token_lanes_;  // rank -> by giving strand
};

// The program with one trip of each loop that meets the same peers in all of them: it names the
// same lanes, and is as well formed, but is walked in no time.
Program one_trip_per_peers(const Program& program);

}  // namespace gyre::sim
