// What each collective promises: which contributions every output chunk must hold.
#pragma once

#include <cstdint>
#include <string_view>

#include "schedule/specification.hpp"

namespace gyre {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  barrier,
  message,  // from `root` to `peer`; nobody else takes part
};

std::string_view name_of(CollectiveKind kind);
bool is_rooted(CollectiveKind kind);
bool is_reduction(CollectiveKind kind);
// Whether an in-place form exists (all-to-all, barrier and messages have none).
bool has_in_place(CollectiveKind kind);

struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;  // rooted kinds; the sender of a message
  std::uint32_t peer = 0;  // the receiver of a message
};

// The promise of one collective. Chunks:
//
//   all_reduce, broadcast, reduce, message   any number, the same on both sides
//   reduce_scatter, scatter                  one per rank in, one out
//   all_gather, gather                       one in, one per rank out
//   all_to_all                               one per rank on both sides
//   barrier                                  any number; what they hold means nothing
//
// In place (the ABI's rules): all_reduce, broadcast and reduce use one buffer; a rank's single
// chunk lies at its own place among the chunks of the other side for reduce_scatter and all_gather,
// and at the root for scatter and gather.
class CollectiveSpecification final : public Specification {
 public:
  explicit CollectiveSpecification(const Collective& collective) : collective_(collective) {}

  std::uint32_t world() const override { return collective_.ranks; }
  bool reduces() const override { return is_reduction(collective_.kind); }
  bool synchronises() const override { return collective_.kind == CollectiveKind::barrier; }
  Result<void> check_shape(const Program& program) const override;
  bool has_input(std::uint32_t rank) const override;
  bool has_output(std::uint32_t rank) const override;
  Wanted output(std::uint32_t rank, std::uint32_t chunk) const override;
  std::optional<std::uint32_t> in_place(std::uint32_t rank, std::uint32_t chunk) const override;

 private:
  Collective collective_;
};

}  // namespace gyre
