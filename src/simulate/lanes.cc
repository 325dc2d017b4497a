#include "simulate/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/cursor.hpp"

namespace gyre::sim {
namespace {

// What lanes may take of memory; everything else is small beside them.
constexpr std::uint64_t kMostBytes = std::uint64_t{1536} << 20;

std::uint64_t most_lanes(std::uint32_t slots) {
  return kMostBytes / (sizeof(Lane) + slots * sizeof(Slot));
}

Result<void> check_number(std::uint64_t lanes, std::size_t ranks, std::uint32_t slots) {
  const std::uint64_t most = most_lanes(slots);
  if (lanes <= most) return {};
  return Error{Status::invalid_argument,
               fmt::format("simulate: {} ranks use more than {} lanes of {} slots, and so more "
                           "than {} MiB; take fewer ranks, fewer slots, or an algorithm whose "
                           "ranks have fewer peers",
                           ranks, most, slots, kMostBytes >> 20)};
}

// Whether a strand gives tokens, or the other one takes them.
bool has_tokens(const Program& program, std::uint32_t giver) {
  for (std::uint32_t s = 0; s < program.strand_count; ++s) {
    const Strand& strand = program.strands[s];
    const Token wanted = s == giver ? Token::give : Token::take;
    for (std::uint32_t l = strand.first_loop; l < strand.first_loop + strand.loops; ++l) {
      const Step* steps = program.steps + program.loops[l].first_step;
      const auto meets = [&](const Step& step) { return step.token == wanted; };
      if (std::any_of(steps, steps + program.loops[l].steps, meets)) return true;
    }
  }
  return false;
}

}  // namespace

Program one_trip_per_peers(const Program& program) {
  Program reduced = program;
  for (std::uint32_t l = 0; l < reduced.loop_count && l < kMaxLoops; ++l) {
    Loop& loop = reduced.loops[l];
    bool moves = loop.rounds.span != 0;
    for (std::uint32_t s = loop.first_step; s < loop.first_step + loop.steps; ++s) {
      if (s >= kMaxSteps) return program;  // malformed: left for the check to see
      moves = moves || (reduced.steps[s].receive.count != 0 && reduced.steps[s].receive.advance) ||
              (reduced.steps[s].send.count != 0 && reduced.steps[s].send.advance);
    }
    if (!moves) loop.trips = std::min<std::uint32_t>(loop.trips, 1);
  }
  return reduced;
}

Result<std::vector<Lanes::End>> Lanes::list_ends(std::span<const RankProgram> ranks,
                                                 std::uint32_t slots) {
  std::vector<End> ends, own;
  const auto same = [](const End& a, const End& b) {
    return a.from == b.from && a.to == b.to && a.sends == b.sends;
  };
  const auto before = [](const End& a, const End& b) {
    if (a.sends != b.sends) return a.sends;
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  };
  for (const RankProgram& rank : ranks) {
    own.clear();
    const Program program = one_trip_per_peers(rank.program);
    for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
      const std::uint32_t number = rank.first_strand + strand;
      for (Cursor at(program, strand, 1); !at.done(); at.next()) {
        const ResolvedStep step = at.current();
        for (const std::uint32_t peer : peers_of(step.receive, program.rank, program.world)) {
          own.push_back({peer, program.rank, number, false});
        }
        for (const std::uint32_t peer : peers_of(step.send, program.rank, program.world)) {
          own.push_back({program.rank, peer, number, true});
        }
      }
    }
    std::sort(own.begin(), own.end(), before);
    own.erase(std::unique(own.begin(), own.end(), same), own.end());
    ends.insert(ends.end(), own.begin(), own.end());
    GYRE_TRY(check_number(ends.size() / 2, ranks.size(), slots));
  }
  return ends;
}

// Both ends of a lane become neighbours, and the lane.
void Lanes::merge(std::span<const End> ends, std::uint32_t world) {
  first_out_.assign(std::size_t{world} + 1, 0);
  for (const End& end : ends) {
    const bool known =
        !lanes_.empty() && lanes_.back().from == end.from && lanes_.back().to == end.to;
    if (!known) {
      lanes_.push_back({.from = end.from, .to = end.to});
      out_peers_.push_back(end.to);
      ++first_out_[end.from + 1];
    }
    (end.sends ? lanes_.back().sender : lanes_.back().receiver) = end.strand;
  }
  for (std::uint32_t rank = 0; rank < world; ++rank) first_out_[rank + 1] += first_out_[rank];
}

void Lanes::index_receivers(std::uint32_t world) {
  first_in_.assign(std::size_t{world} + 1, 0);
  for (const Lane& lane : lanes_) ++first_in_[lane.to + 1];
  for (std::uint32_t rank = 0; rank < world; ++rank) first_in_[rank + 1] += first_in_[rank];
  in_peers_.resize(lanes_.size());
  in_lanes_.resize(lanes_.size());
  std::vector<std::uint32_t> next(first_in_.begin(), first_in_.end() - 1);
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::uint32_t at = next[lanes_[lane].to]++;
    in_peers_[at] = lanes_[lane].from;
    in_lanes_[at] = lane;
  }
}

// A lane for each direction in which the two strands of a rank meet.
void Lanes::add_token_lanes(std::span<const RankProgram> ranks) {
  for (const RankProgram& rank : ranks) {
    std::array<std::uint32_t, kMaxStrands>& own = token_lanes_.emplace_back();
    own.fill(kNobody);
    const Program& program = rank.program;
    for (std::uint32_t giver = 0; giver < program.strand_count; ++giver) {
      if (!has_tokens(program, giver)) continue;
      own[giver] = static_cast<std::uint32_t>(lanes_.size());
      lanes_.push_back({.from = program.rank,
                        .to = program.rank,
                        .sender = rank.first_strand + giver,
                        .receiver = rank.first_strand + 1 - giver});
    }
  }
}

Result<Lanes> Lanes::of(std::span<const RankProgram> ranks, const Machine& machine,
                        std::uint32_t slots) {
  Lanes lanes;
  lanes.slots_ = slots;
  const auto world = static_cast<std::uint32_t>(ranks.size());
  {
    GYRE_TRY_ASSIGN(std::vector<End> ends, list_ends(ranks, slots));
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
      return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    lanes.merge(ends, world);
  }
  lanes.index_receivers(world);
  lanes.add_token_lanes(ranks);
  GYRE_TRY(check_number(lanes.lanes_.size(), ranks.size(), slots));
  lanes.hints_.resize(world);
  lanes.slot_table_.resize(lanes.lanes_.size() * slots);
  for (Lane& lane : lanes.lanes_) {
    if (lane.from == lane.to) continue;  // tokens cost nothing
    lane.cost = machine.link(lane.from, lane.to);
    GYRE_TRY(check_cost(lane.cost));
  }
  return lanes;
}

std::uint32_t Lanes::find(std::span<const std::uint32_t> peers, std::uint32_t peer,
                          std::uint32_t& hint) {
  if (peers[hint] == peer) return hint;
  const auto size = static_cast<std::uint32_t>(peers.size());
  const std::uint32_t next = hint + 1 == size ? 0 : hint + 1;
  if (peers[next] == peer) return hint = next;
  const std::uint32_t previous = hint == 0 ? size - 1 : hint - 1;
  if (peers[previous] == peer) return hint = previous;
  const auto found = std::lower_bound(peers.begin(), peers.end(), peer);
  return hint = static_cast<std::uint32_t>(found - peers.begin());
}

}  // namespace gyre::sim
