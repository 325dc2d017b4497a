#include "simulate/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace gyre::sim {
namespace {

// Among the owners of flows: strands, which share cores, follow the lanes.
constexpr std::uint32_t kFirstStrand = 0x80000000U;

std::vector<double> capacities_of(const Fabric& fabric) {
  std::vector<double> capacities;
  capacities.reserve(fabric.links.size());
  for (const Fabric::Link& link : fabric.links) capacities.push_back(link.capacity);
  return capacities;
}

double most_of(const LinkCost& cost) {
  return cost.seconds_per_byte > 0 ? 1 / cost.seconds_per_byte
                                   : std::numeric_limits<double>::infinity();
}

// The work of one step of `operands` values, `received` of which came as messages.
double seconds_of(const StepCost& cost, std::uint64_t bytes, std::size_t received, std::size_t sent,
                  bool reads, bool stores) {
  const auto in = static_cast<double>(received), out = static_cast<double>(sent);
  const double folds = in + (reads ? 1 : 0) - 1;
  const double per_byte = cost.read_per_byte + cost.reduce_per_byte * std::max(0.0, folds) +
                          (stores ? cost.copy_per_byte : 0) + cost.send_per_byte * out;
  return cost.fixed + cost.per_message * (in + out) + per_byte * static_cast<double>(bytes);
}

}  // namespace

Run::Run(std::span<const RankProgram> ranks, Lanes& lanes, const Machine& machine,
         const Message& message, bool record)
    : ranks_(ranks),
      lanes_(lanes),
      machine_(machine),
      message_(message),
      world_(static_cast<std::uint32_t>(ranks.size())),
      network_(capacities_of(machine.fabric)),
      recorder_(record, lanes.all().size()) {
  timeline_.ranks.resize(ranks.size());
}

void Run::add_strands() {
  for (const RankProgram& rank : ranks_) {
    for (std::uint32_t s = 0; s < rank.program.strand_count; ++s) {
      Strand strand;
      strand.cursor = Cursor(rank.program, s, message_.tiles);
      strand.rank = rank.program.rank;
      strand.index = s;
      strands_.push_back(strand);
    }
  }
}

Result<void> Run::add_flows() {
  const Fabric& fabric = machine_.fabric;
  const auto links = static_cast<std::uint32_t>(fabric.links.size());
  std::vector<std::uint32_t> route;
  for (std::uint32_t number = 0; fabric.route && number < lanes_.all().size(); ++number) {
    Lane& lane = lanes_[number];
    route.clear();
    if (lane.from != lane.to) fabric.route(lane.from, lane.to, route);
    if (route.empty()) continue;
    if (*std::max_element(route.begin(), route.end()) >= links) {
      return Error{
          Status::invalid_argument,
          fmt::format("simulate: the route from rank {} to {} names a link that the fabric "
                      "does not have; it has {}",
                      lane.from, lane.to, links)};
    }
    lane.flow = network_.add_flow(route, most_of(lane.cost));
    flow_owners_.push_back(number);
  }
  for (std::uint32_t rank = 0; fabric.cores && rank < world_; ++rank) {
    GYRE_TRY(add_flow_of_cores(rank));
  }
  return {};
}

Result<void> Run::add_flow_of_cores(std::uint32_t rank) {
  const std::uint32_t link = machine_.fabric.cores(rank);
  if (link == kNoLink) return {};
  if (link >= machine_.fabric.links.size()) {
    return Error{Status::invalid_argument,
                 fmt::format("simulate: the cores of rank {} are a link that the fabric does not "
                             "have; it has {}",
                             rank, machine_.fabric.links.size())};
  }
  const RankProgram& own = ranks_[rank];
  for (std::uint32_t s = 0; s < own.program.strand_count; ++s) {
    const std::uint32_t strand = own.first_strand + s;
    strands_[strand].cores = network_.add_flow({&link, 1}, 1.0);
    flow_owners_.push_back(kFirstStrand + strand);
  }
  return {};
}

Result<Timeline> Run::run() {
  add_strands();
  GYRE_TRY(add_flows());
  // Backwards, so that the first rank starts.
  for (auto s = static_cast<std::uint32_t>(strands_.size()); s-- > 0;) ready_.push_back(s);
  drain();
  while (network_.advance()) {
    for (const std::uint32_t flow : network_.done()) on_flow_done(flow);
    drain();
  }
  GYRE_TRY(check_all_done());
  summarise();
  return std::move(timeline_);
}

// One thing that the step of `strand` waited for is there. Steps with many lanes are looked at
// again when nothing is missing, not each time something comes.
void Run::wake(std::uint32_t strand, bool& awaited) {
  if (!awaited) return;
  awaited = false;
  if (--strands_[strand].missing == 0) ready_.push_back(strand);
}

// In which order strands go on does not matter: see README.md.
void Run::drain() {
  while (!ready_.empty()) {
    const std::uint32_t strand = ready_.back();
    ready_.pop_back();
    advance(strand);
  }
}

// Works out one strand's steps until it waits for something whose time is not known.
void Run::advance(std::uint32_t number) {
  Strand& self = strands_[number];
  for (; !self.cursor.done(); self.cursor.next()) {
    const ResolvedStep step = self.cursor.current();
    if (!find_lanes(self, step)) return;
    const Load load = load_of(ranks_[self.rank].program, step);
    const double begin = std::max(self.free_at, ready_at_);
    if (self.cores != kNobody && load.work > 0) {
      self.begin = begin;
      network_.carry(self.cores, load.work, begin);
      return;
    }
    complete(number, step, load, begin, begin + load.work);
  }
}

// Fills in from_, to_ and ready_at_. False: something is not known yet, and the strand waits for
// it.
bool Run::find_lanes(Strand& strand, const ResolvedStep& step) {
  from_.clear();
  to_.clear();
  ready_at_ = 0;
  for (const std::uint32_t peer : peers_of(step.receive, strand.rank, world_)) {
    const std::uint32_t number = lanes_.incoming(strand.rank, peer);
    if (has_message(strand, number)) from_.push_back(number);
  }
  for (const std::uint32_t peer : peers_of(step.send, strand.rank, world_)) {
    const std::uint32_t number = lanes_.outgoing(strand.rank, peer);
    if (has_slot(strand, number)) to_.push_back(number);
  }
  if (step.token == Token::take) has_message(strand, lanes_.tokens(strand.rank, 1 - strand.index));
  if (step.token == Token::give) has_slot(strand, lanes_.tokens(strand.rank, strand.index));
  return strand.missing == 0;
}

// Whether the lane holds a message, and the strand can go on no earlier; else it waits for one.
bool Run::has_message(Strand& strand, std::uint32_t number) {
  Lane& lane = lanes_[number];
  if (lane.arrived == 0) {
    lane.data_awaited = true;
    ++strand.missing;
    return false;
  }
  ready_at_ = std::max(ready_at_, lanes_.slot(number, lane.head).time);
  return true;
}

// The same of a free slot.
bool Run::has_slot(Strand& strand, std::uint32_t number) {
  Lane& lane = lanes_[number];
  if (lane.used == lanes_.slots()) {
    lane.slot_awaited = true;
    ++strand.missing;
    return false;
  }
  ready_at_ = std::max(ready_at_, lanes_.slot(number, lane.tail).freed);
  return true;
}

// The bytes of a run of chunks. A scratch chunk is as long as the chunk of the input it is made of:
// all of a tile are alike where the input has one per rank, else it has the same number.
std::uint64_t Run::bytes_of(const Program& program, Side side, std::int32_t first,
                            std::uint32_t stride, const ResolvedStep& step) const {
  const bool alike = side == Side::scratch && message_.input.has_even_tiles();
  const Layout& layout = side == Side::output ? message_.output : message_.input;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < step.chunks; ++i) {
    const std::uint32_t chunk = chunk_at(first, stride, i, chunks_of(program, side));
    bytes += layout.extent(step.tile, alike ? 0 : chunk).count;
  }
  return bytes;
}

Run::Load Run::load_of(const Program& program, const ResolvedStep& step) {
  const bool reads = step.source != kNoChunk, stores = step.target != kNoChunk;
  Load load;
  if (reads) {
    load.bytes = bytes_of(program, step.source_side, step.source, step.source_stride, step);
  } else {
    load.bytes = bytes_of(program, step.target_side, step.target, step.target_stride, step);
  }
  load.work = seconds_of(machine_.step, load.bytes, from_.size(), to_.size(), reads, stores);
  for (const std::vector<std::uint32_t>* ends : {&from_, &to_}) {
    for (const std::uint32_t lane : *ends) {
      const LinkCost& cost = lanes_[lane].cost;
      load.work += cost.overhead + static_cast<double>(load.bytes) * cost.overhead_per_byte;
    }
  }
  return load;
}

// The step of the strand's cursor, whose lanes are in from_ and to_.
void Run::complete(std::uint32_t number, const ResolvedStep& step, const Load& load, double begin,
                   double end) {
  Strand& self = strands_[number];
  RankTimes& rank = timeline_.ranks[self.rank];
  if (recorder_.on()) {
    const bool reads = step.source != kNoChunk;
    recorder_.add_step({.rank = self.rank,
                        .strand = self.index,
                        .loop = self.cursor.loop(),
                        .trip = self.cursor.trip(),
                        .tile = step.tile,
                        .bytes = load.bytes,
                        .received = static_cast<std::uint32_t>(from_.size()),
                        .sent = static_cast<std::uint32_t>(to_.size()),
                        .reduces = from_.size() + (reads ? 1 : 0) > 1,
                        .stores = step.target != kNoChunk,
                        .begin = begin,
                        .end = end});
    for (const std::uint32_t lane : to_) {
      recorder_.add_message(lane, {.from = self.rank,
                                   .to = lanes_[lane].to,
                                   .tile = step.tile,
                                   .bytes = load.bytes,
                                   .sent = end});
    }
  }
  self.free_at = end;
  ++timeline_.steps;
  timeline_.messages += to_.size();
  rank.finish = std::max(rank.finish, end);
  rank.busy += load.work;
  rank.sent_bytes += load.bytes * to_.size();
  for (const std::uint32_t lane : from_) {
    rank.received_bytes += lanes_.slot(lane, lanes_[lane].head).bytes;
    take(lane, end);
  }
  for (const std::uint32_t lane : to_) post(lane, end, load.bytes);
  if (step.token == Token::take) take(lanes_.tokens(self.rank, 1 - self.index), end);
  if (step.token == Token::give) post(lanes_.tokens(self.rank, self.index), end, 0);
}

void Run::take(std::uint32_t number, double at) {
  Lane& lane = lanes_[number];
  lanes_.slot(number, lane.head).freed = at + lane.cost.credit_latency;
  lane.head = lanes_.after(lane.head);
  --lane.used;
  --lane.arrived;
  wake(lane.sender, lane.slot_awaited);
}

void Run::post(std::uint32_t number, double at, std::uint64_t bytes) {
  Lane& lane = lanes_[number];
  Slot& slot = lanes_.slot(number, lane.tail);
  slot.time = at;
  slot.bytes = bytes;
  lane.tail = lanes_.after(lane.tail);
  ++lane.used;
  if (lane.flow == kNobody) {
    lane.free_at =
        std::max(at, lane.free_at) + static_cast<double>(bytes) * lane.cost.seconds_per_byte;
    arrive(number, lane.free_at);
  } else if (lane.used == lane.arrived + 1) {
    // Nothing else is on its way.
    network_.carry(lane.flow, static_cast<double>(bytes), at);
  }
}

// The oldest message that was still on its way has left the lane.
void Run::arrive(std::uint32_t number, double left_at) {
  Lane& lane = lanes_[number];
  const double at = left_at + lane.cost.latency;
  std::uint32_t index = lane.head + lane.arrived;
  if (index >= lanes_.slots()) index -= lanes_.slots();
  lanes_.slot(number, index).time = at;
  ++lane.arrived;
  const bool token = lane.from == lane.to;
  if (recorder_.on() && !token) recorder_.arrive(number, at);
  wake(lane.receiver, lane.data_awaited);
}

void Run::on_flow_done(std::uint32_t flow) {
  const std::uint32_t owner = flow_owners_[flow];
  if (owner >= kFirstStrand) {
    const std::uint32_t number = owner - kFirstStrand;
    Strand& self = strands_[number];
    const ResolvedStep step = self.cursor.current();
    find_lanes(self, step);
    complete(number, step, load_of(ranks_[self.rank].program, step), self.begin, network_.now());
    self.cursor.next();
    ready_.push_back(number);
    return;
  }
  arrive(owner, network_.now());
  Lane& lane = lanes_[owner];
  if (lane.used == lane.arrived) return;
  std::uint32_t next = lane.head + lane.arrived;
  if (next >= lanes_.slots()) next -= lanes_.slots();
  const Slot& slot = lanes_.slot(owner, next);
  network_.carry(lane.flow, static_cast<double>(slot.bytes), slot.time);
}

// One of the things that a strand waits for, data before slots.
std::string Run::describe(const Strand& strand) {
  const ResolvedStep step = strand.cursor.current();
  std::string what;
  for (const std::uint32_t peer : peers_of(step.send, strand.rank, world_)) {
    if (lanes_[lanes_.outgoing(strand.rank, peer)].slot_awaited) {
      what = fmt::format("a slot to {}", peer);
    }
  }
  for (const std::uint32_t peer : peers_of(step.receive, strand.rank, world_)) {
    if (lanes_[lanes_.incoming(strand.rank, peer)].data_awaited) {
      what = fmt::format("data of {}", peer);
    }
  }
  if (what.empty()) what = "its other strand";
  return fmt::format("rank {} (tile {}) waits for {}", strand.rank, step.tile, what);
}

Result<void> Run::check_all_done() {
  std::string stuck;
  for (const Strand& strand : strands_) {
    if (strand.cursor.done()) continue;
    stuck += "; " + describe(strand);
    constexpr std::size_t kEnough = 400;
    if (stuck.size() > kEnough) break;
  }
  if (!stuck.empty()) {
    return Error{Status::invalid_argument,
                 fmt::format("simulate: deadlock with {} tiles and {} slots{}. Give lanes more "
                             "slots, or look at the schedule with verify()",
                             message_.tiles, lanes_.slots(), stuck)};
  }
  for (const Lane& lane : lanes_.all()) {
    if (lane.used == 0) continue;
    return Error{Status::invalid_argument,
                 fmt::format("simulate: rank {} does not take {} messages of rank {}; look at the "
                             "schedule with verify()",
                             lane.to, lane.used, lane.from)};
  }
  return {};
}

void Run::summarise() {
  for (const RankTimes& rank : timeline_.ranks) {
    timeline_.seconds = std::max(timeline_.seconds, rank.finish);
  }
  const auto links = static_cast<std::uint32_t>(machine_.fabric.links.size());
  for (std::uint32_t link = 0; link < links; ++link) {
    timeline_.links.push_back({network_.carried(link), network_.peak(link)});
  }
  recorder_.move_to(timeline_);
}

}  // namespace gyre::sim
