#include "rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "schedule/cursor.hpp"

namespace gyre::test {
namespace {

using Number = std::uint64_t;
constexpr Number kUntouched = 0xdeadbeefdeadbeef;

Number finished(Number value) { return value * 0x2545f4914f6cdd1dU + 99; }

struct Parcel {
  std::vector<Number> values{};
  const Number* place = nullptr;  // by reference: read on arrival
  Number* offer = nullptr;        // where the receiver may write what it answers
  bool placed = false;            // its value was written where the receiver offered it

  std::vector<Number> content() const { return place ? std::vector<Number>{*place} : values; }
};

// Where a strand is inside its current step.
struct Actor {
  const Program* program = nullptr;
  std::uint32_t strand = 0;
  Cursor cursor;
  std::vector<std::uint32_t> from{}, to{};  // peers still to receive from, to send to
  std::vector<std::pair<std::uint32_t, std::vector<Number>>> operands{};  // empty: placed
  std::map<std::uint32_t, Number*> offers{};  // by peer; null: it was made use of
  bool entered = false, stored = false;
  Parcel parcel{};
};

// All buffers of one rank, one number per chunk. Elements are laid out as the ABI does, so that
// in-place sharing is a matter of addresses.
struct Buffers {
  std::vector<Number> memory;
  std::size_t input = 0, output = 0;  // offsets into memory
  std::vector<Number> scratch{};
};

class Rehearsal {
 public:
  Rehearsal(const std::vector<Program>& programs, const Collective& collective,
            const RehearsalOptions& options)
      : programs_(programs),
        collective_(collective),
        options_(options),
        random_(options.seed),
        world_(static_cast<std::uint32_t>(programs.size())) {
    inputs_ = programs[0].input_chunks;
    outputs_ = programs[0].output_chunks;
    for (std::uint32_t rank = 0; rank < world_; ++rank) add_buffers(rank);
    for (const Program& program : programs_) {
      for (std::uint32_t strand = 0; strand < program.strand_count; ++strand) {
        actors_.push_back({.program = &program,
                           .strand = strand,
                           .cursor = Cursor(program, strand, options.tiles)});
      }
    }
  }

  std::string run() {
    std::vector<std::size_t> order(actors_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (bool moved = true; moved && fault_.empty();) {
      moved = false;
      if (!options_.greedy) std::shuffle(order.begin(), order.end(), random_);
      for (const std::size_t actor : order) {
        if (!act(actors_[actor])) continue;
        moved = true;
        break;
      }
    }
    check_end();
    return fault_;
  }

 private:
  // -- buffers ---------------------------------------------------------------------------------
  // Tile-major chunks for the tiled kinds, block-major for a side with one block per rank.
  bool blocked() const {
    using enum CollectiveKind;
    const auto kind = collective_.kind;
    return !(kind == all_reduce || kind == broadcast || kind == reduce || kind == message);
  }
  std::size_t element(std::uint64_t tile, std::int64_t chunk, std::uint64_t chunks) const {
    const auto c = static_cast<std::uint64_t>(chunk);
    return blocked() ? c * options_.tiles + tile : tile * chunks + c;
  }
  Number* input(std::uint32_t rank, std::uint64_t tile, std::int64_t chunk) {
    return &buffers_[rank].memory[buffers_[rank].input + element(tile, chunk, inputs_)];
  }
  Number* output(std::uint32_t rank, std::uint64_t tile, std::int64_t chunk) {
    return &buffers_[rank].memory[buffers_[rank].output + element(tile, chunk, outputs_)];
  }
  Number* at(std::uint32_t rank, Side side, std::int32_t first, std::uint32_t stride,
             std::uint32_t i, std::uint64_t tile) {
    const std::uint32_t chunk = chunk_at(first, stride, i, chunks_of(programs_[rank], side));
    if (side == Side::input) return input(rank, tile, chunk);
    return side == Side::output ? output(rank, tile, chunk) : &buffers_[rank].scratch[chunk];
  }
  void add_buffers(std::uint32_t rank) {
    using enum CollectiveKind;
    const std::size_t in = inputs_ * options_.tiles, out = outputs_ * options_.tiles;
    const std::size_t place = rank * options_.tiles;
    const auto kind = collective_.kind;
    const bool root = rank == collective_.root;
    Buffers buffers{std::vector<Number>(in + out, kUntouched), 0, in};
    buffers.scratch.assign(programs_[rank].scratch_chunks, kUntouched);
    if (options_.in_place) {
      if (kind == all_reduce || (root && (kind == broadcast || kind == reduce))) buffers.output = 0;
      if (kind == reduce_scatter || (root && kind == scatter)) buffers.output = place;
      if (kind == all_gather || (root && kind == gather)) {
        buffers.output = 0;
        buffers.input = place;
      }
    }
    buffers_.push_back(buffers);
    std::vector<Number> contribution(in);
    for (Number& number : contribution) number = random_();
    std::copy(contribution.begin(), contribution.end(),
              buffers_.back().memory.begin() + static_cast<std::ptrdiff_t>(buffers.input));
    given_.push_back(contribution);
  }

  // -- events ----------------------------------------------------------------------------------
  std::deque<Parcel>& lane(std::uint32_t from, std::uint32_t to) { return lanes_[{from, to}]; }

  // One event of an actor, if there is one.
  bool act(Actor& actor) {
    if (actor.cursor.done()) return false;
    const std::uint32_t rank = actor.program->rank;
    if (!actor.entered) {
      if (!tokens_ready(actor)) return false;
      enter(actor);
    }
    const auto arrived = [&](std::uint32_t peer) { return !lane(peer, rank).empty(); };
    const auto free = [&](std::uint32_t peer) { return lane(rank, peer).size() < options_.slots; };
    if (options_.whole_steps) {
      if (!std::all_of(actor.from.begin(), actor.from.end(), arrived)) return false;
      if (!std::all_of(actor.to.begin(), actor.to.end(), free)) return false;
      while (!actor.from.empty()) take(actor, 0);
      fold_and_store(actor);
      while (!actor.to.empty()) put(actor, 0);
      leave(actor);
      return true;
    }
    if (!actor.from.empty()) {
      const auto ready = std::find_if(actor.from.begin(), actor.from.end(), arrived);
      if (ready == actor.from.end()) return false;
      take(actor, ready - actor.from.begin());
    } else if (!actor.stored) {
      fold_and_store(actor);
    } else if (!actor.to.empty()) {
      const auto ready = std::find_if(actor.to.begin(), actor.to.end(), free);
      if (ready == actor.to.end()) return false;
      put(actor, ready - actor.to.begin());
    }
    if (actor.from.empty() && actor.stored && actor.to.empty()) leave(actor);
    return true;
  }

  // Tokens that this strand, or the other one of its rank, has given and nobody has taken.
  std::uint32_t& tokens(const Actor& actor, bool own) {
    return tokens_[{actor.program->rank, own ? actor.strand : 1 - actor.strand}];
  }
  bool tokens_ready(const Actor& actor) {
    const Token token = actor.cursor.current().token;
    if (token == Token::take) return tokens(actor, false) != 0;
    return token == Token::none || tokens(actor, true) < options_.slots;
  }

  void enter(Actor& actor) {
    const ResolvedStep step = actor.cursor.current();
    if (step.token == Token::take) --tokens(actor, false);
    if (step.tile + 1 == options_.tiles) begun_.insert({actor.program->rank, actor.strand});
    for (std::uint32_t i = 0; i < step.receive.count; ++i) {
      const std::uint32_t peer = (step.receive.first + i * step.receive.stride) % world_;
      if (peer != actor.program->rank) actor.from.push_back(peer);
    }
    for (std::uint32_t i = 0; i < step.send.count; ++i) {
      const std::uint32_t peer = (step.send.first + i * step.send.stride) % world_;
      if (peer != actor.program->rank) actor.to.push_back(peer);
    }
    actor.entered = true;
  }
  void leave(Actor& actor) {
    actor.entered = actor.stored = false;
    actor.operands.clear();
    actor.offers.clear();
    if (actor.cursor.current().token == Token::give) ++tokens(actor, true);
    actor.cursor.next();
    const bool barrier = collective_.kind == CollectiveKind::barrier;
    if (barrier && actor.cursor.done() && begun_.size() != actors_.size() && fault_.empty()) {
      fault_ = fmt::format("rank {} ends before all have begun", actor.program->rank);
    }
  }
  void take(Actor& actor, std::ptrdiff_t index) {
    const std::uint32_t peer = actor.from[static_cast<std::size_t>(index)];
    const Parcel parcel = lane(peer, actor.program->rank).front();
    lane(peer, actor.program->rank).pop_front();
    if (parcel.offer != nullptr) actor.offers[peer] = parcel.offer;
    actor.operands.emplace_back(peer, parcel.content());
    const std::size_t length = actor.operands.back().second.size();
    if (!parcel.placed && length != actor.cursor.current().chunks) {
      fault_ = fmt::format("rank {}: a message of another length", actor.program->rank);
      actor.operands.back().second.resize(actor.cursor.current().chunks);
    }
    actor.from.erase(actor.from.begin() + index);
  }
  void put(Actor& actor, std::ptrdiff_t index) {
    const std::uint32_t peer = actor.to[static_cast<std::size_t>(index)];
    const auto offer = actor.offers.find(peer);
    const bool placed = offer != actor.offers.end() && offer->second == nullptr;
    lane(actor.program->rank, peer).push_back(placed ? Parcel{.placed = true} : actor.parcel);
    actor.to.erase(actor.to.begin() + index);
  }

  Number fold(Number a, Number b) const { return options_.order_matters ? a * 31 + b : a + b; }

  void sort_operands(Actor& actor, const ResolvedStep& step, bool covered) const {
    const auto distance = [&](std::uint32_t peer) {
      for (std::uint32_t i = 0; i < step.receive.count; ++i) {
        if ((step.receive.first + i * step.receive.stride) % world_ == peer) return i;
      }
      return std::uint32_t{step.receive.count};
    };
    std::sort(actor.operands.begin(), actor.operands.end(), [&](const auto& a, const auto& b) {
      return covered ? a.first < b.first : distance(a.first) < distance(b.first);
    });
  }

  void add_own(Actor& actor, const ResolvedStep& step, bool covered) {
    const std::uint32_t rank = actor.program->rank;
    std::vector<Number> own;
    for (std::uint32_t i = 0; i < step.chunks; ++i) {
      own.push_back(*at(rank, step.source_side, step.source, step.source_stride, i, step.tile));
    }
    const auto where = covered ? std::find_if(actor.operands.begin(), actor.operands.end(),
                                              [&](const auto& o) { return o.first > rank; })
                               : actor.operands.end();
    actor.operands.insert(where, {rank, own});
  }

  // Where a step's value stays until the end of the call, if anywhere.
  const Number* lasting(const Actor& actor, const ResolvedStep& step) {
    const std::uint32_t rank = actor.program->rank;
    if (step.chunks != 1 || !options_.by_reference) return nullptr;
    if (step.target != kNoChunk) {
      return step.target_side == Side::scratch ? nullptr : output(rank, step.tile, step.target);
    }
    if (actor.operands.size() > 1 || step.finish || step.source == kNoChunk) return nullptr;
    if (step.source_side == Side::scratch) return nullptr;
    return at(rank, step.source_side, step.source, 1, 0, step.tile);
  }

  // What was placed is taken to lie where the step stores.
  void find_placed(Actor& actor, const ResolvedStep& step) {
    for (auto& [peer, values] : actor.operands) {
      if (!values.empty()) continue;
      values.assign(step.chunks, kUntouched);
      if (step.target == kNoChunk || step.chunks != 1) {
        fault_ = fmt::format("rank {}: nobody stores what was placed", actor.program->rank);
      } else {
        values[0] = *at(actor.program->rank, step.target_side, step.target, 1, 0, step.tile);
      }
    }
  }
  // Writes a result that was stored where ranks that also get it have offered.
  void place(Actor& actor, const ResolvedStep& step) {
    if (step.target == kNoChunk || step.chunks != 1) return;
    for (auto& [peer, offer] : actor.offers) {
      const bool answered = std::find(actor.to.begin(), actor.to.end(), peer) != actor.to.end();
      const bool may = options_.placing == Placing::always || random_() % 2 == 0;
      if (!answered || !may) continue;
      *offer = actor.parcel.values[0];
      offer = nullptr;
    }
  }

  void fold_and_store(Actor& actor) {
    const ResolvedStep step = actor.cursor.current();
    const std::uint32_t rank = actor.program->rank;
    const bool covered = step.receive.covers(rank, world_);
    find_placed(actor, step);
    sort_operands(actor, step, covered);
    if (step.source != kNoChunk) add_own(actor, step, covered);
    actor.stored = true;
    if (actor.operands.empty()) {
      fault_ = fmt::format("rank {}: a step without operands", rank);
      return;
    }
    actor.parcel = {std::vector<Number>(step.chunks), lasting(actor, step)};
    if (step.offer != kNoChunk && actor.parcel.place && options_.placing != Placing::never) {
      actor.parcel.offer = output(rank, step.tile, step.offer);
    }
    for (std::uint32_t i = 0; i < step.chunks; ++i) {
      Number value = actor.operands[0].second[i];
      for (std::size_t o = 1; o < actor.operands.size(); ++o) {
        value = fold(value, actor.operands[o].second[i]);
      }
      if (step.finish) value = finished(value);
      actor.parcel.values[i] = value;
      if (step.target == kNoChunk) continue;
      *at(rank, step.target_side, step.target, step.target_stride, i, step.tile) = value;
    }
    place(actor, step);
  }

  // -- the meaning of the collectives ----------------------------------------------------------
  Number given(std::uint32_t rank, std::uint64_t tile, std::int64_t chunk) const {
    return given_[rank][element(tile, chunk, inputs_)];
  }
  Number total(std::uint64_t tile, std::int64_t chunk) const {
    Number value = given(0, tile, chunk);
    for (std::uint32_t r = 1; r < world_; ++r) value = fold(value, given(r, tile, chunk));
    return finished(value);
  }
  Number wanted(std::uint32_t rank, std::uint64_t tile, std::uint32_t chunk) const {
    using enum CollectiveKind;
    const bool root = rank == collective_.root;
    switch (collective_.kind) {
      case all_reduce:
        return total(tile, chunk);
      case reduce_scatter:
        return total(tile, rank);
      case reduce:
        return root ? total(tile, chunk) : kUntouched;
      case all_gather:
        return given(chunk, tile, 0);
      case broadcast:
        return given(collective_.root, tile, chunk);
      case all_to_all:
        return given(chunk, tile, rank);
      case gather:
        return root ? given(chunk, tile, 0) : kUntouched;
      case scatter:
        return given(collective_.root, tile, rank);
      case barrier:
        break;
      case message:
        return rank == collective_.peer ? given(collective_.root, tile, chunk) : kUntouched;
    }
    return kUntouched;
  }

  void check_end() {
    for (const Actor& actor : actors_) {
      if (fault_.empty() && !actor.cursor.done()) {
        fault_ = fmt::format("rank {} is stuck", actor.program->rank);
      }
    }
    for (const auto& [ends, parcels] : lanes_) {
      if (fault_.empty() && !parcels.empty()) fault_ = "a message is left";
    }
    for (const auto& [ends, count] : tokens_) {
      if (fault_.empty() && count != 0) fault_ = "a token is left";
    }
    if (collective_.kind == CollectiveKind::barrier) return;
    for (std::uint32_t rank = 0; rank < world_ && fault_.empty(); ++rank) {
      for (std::uint64_t tile = 0; tile < options_.tiles; ++tile) {
        for (std::uint32_t chunk = 0; chunk < outputs_; ++chunk) {
          if (*output(rank, tile, chunk) == wanted(rank, tile, chunk)) continue;
          fault_ = fmt::format("rank {}, tile {}, chunk {} is wrong", rank, tile, chunk);
        }
      }
    }
  }

  const std::vector<Program>& programs_;
  Collective collective_;
  RehearsalOptions options_;
  std::mt19937_64 random_;
  std::uint32_t world_;
  std::uint32_t inputs_ = 1, outputs_ = 1;
  std::vector<Buffers> buffers_;
  std::vector<std::vector<Number>> given_;  // the inputs as they were
  std::vector<Actor> actors_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Parcel>> lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tokens_;  // rank, giving strand
  std::set<std::pair<std::uint32_t, std::uint32_t>> begun_;  // strands in their last tile
  std::string fault_;
};

}  // namespace

std::string rehearse(const std::vector<Program>& programs, const Collective& collective,
                     const RehearsalOptions& options) {
  return Rehearsal(programs, collective, options).run();
}

}  // namespace gyre::test
