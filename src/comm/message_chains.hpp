// The messages of a group as the interpreter runs them: chain by chain (see MessageSpread), whose
// heads come first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device/work.hpp"
#include "plan/device_choice.hpp"
#include "schedule/call.hpp"

namespace gyre {

class MessageChains {
 public:
  MessageChains(int rank, int world, const DeviceFacts& device);

  // In place of what was arranged before, whose memory is used again. `messages` have other ranks
  // for peers; those of an all-to-all-v pass its tag and number, others 0.
  void arrange(std::span<const Call> messages, CallTag tag, std::uint64_t number);

  // Theirs all. Works 0 ... chains() - 1 begin the chains.
  const Program& program() const { return program_; }
  std::span<const device::Work> works() const { return works_; }
  std::uint32_t chains() const { return chains_; }
  // That the messages share, at most.
  std::uint32_t channels() const { return channels_; }

 private:
  struct Place {
    std::uint32_t chain;
    std::uint32_t distance;
    const Call* message;
  };
  Place place_of(const Call& message) const;
  device::Work work_of(const Call& message, CallTag tag, std::uint64_t number) const;

  const int rank_;
  const int world_;
  const DeviceFacts device_;
  const MessageSpread spread_;
  const Program program_;
  std::vector<Place> places_;
  std::vector<device::Work> works_;
  std::uint32_t chains_ = 0;
  std::uint32_t channels_ = 0;
};

}  // namespace gyre
