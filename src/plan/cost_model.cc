#include "plan/cost_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "simulate/simulate.hpp"

namespace gyre {
namespace {

// 64 ranks would take half a second, of every init.
constexpr std::uint32_t kMostSimulated = 16;
// Messages of these many tiles are simulated; the last two give the slope beyond.
constexpr std::array kTiles = {0.0, 1.0 / 16, 1.0, 2.0, 4.0};
constexpr std::uint64_t kLeastBytes = 8;

sim::Message message_for(const CatalogueEntry& entry, const Program& program, std::uint64_t bytes,
                         std::uint64_t slice_bytes, std::uint32_t ranks_per_host) {
  return sim::message_of(entry.kind, bytes, program,
                         slice_bytes / entry.longest_run(program.world, ranks_per_host));
}

// Of one tile of slices as long as can be.
std::uint64_t bytes_of_tile(const CatalogueEntry& entry, std::uint32_t world,
                            std::uint32_t ranks_per_host, std::uint64_t slice_bytes) {
  const Program program = entry.build(0, world, 0, ranks_per_host);
  const std::uint64_t chunks = std::max(program.input_chunks, program.output_chunks);
  return slice_bytes / entry.longest_run(world, ranks_per_host) * chunks;
}

// What hosts have to do at least, however their ranks share it: steps on the cores that there are,
// and bytes through the NIC.
double shared_bound(const MachineFacts& machine, const HostCosts& costs,
                    const sim::Timeline& timeline) {
  std::vector<double> work(machine.hosts.size()), out(machine.hosts.size()),
      in(machine.hosts.size());
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    work[machine.host_of[rank]] += timeline.ranks[rank].busy;
  }
  for (const sim::Flight& flight : timeline.flights) {
    const std::uint32_t from = machine.host_of[flight.from], to = machine.host_of[flight.to];
    if (from == to) continue;
    out[from] += static_cast<double>(flight.bytes);
    in[to] += static_cast<double>(flight.bytes);
  }
  double seconds = 0;
  for (std::size_t host = 0; host < machine.hosts.size(); ++host) {
    const HostFacts& facts = machine.hosts[host];
    if (facts.cores != 0) seconds = std::max(seconds, work[host] / facts.cores);
    seconds = std::max(seconds, std::max(out[host], in[host]) * nic_seconds_per_byte(facts, costs));
  }
  return seconds;
}

// What host executors save by themselves over memory: schedules of one small message to each have a
// short form, and who sends one large chunk to all others writes it once, or lets them read it, or
// places results where they belong.
double saved(const CatalogueEntry& entry, const Saving& saving, std::uint64_t bytes,
             std::uint32_t world) {
  using enum CollectiveKind;
  const bool blocks = entry.kind != all_reduce && entry.kind != broadcast && entry.kind != reduce;
  const bool one_hop =
      entry.algorithm == "one_shot" || entry.algorithm == "direct" || entry.algorithm == "pairwise";
  const std::uint64_t each = blocks ? bytes / world : bytes;
  if (one_hop && each <= saving.short_form_most) return saving.short_form;
  const bool direct = entry.algorithm == "two_shot" || entry.algorithm == "direct";
  return direct && bytes >= saving.direct_from ? saving.direct : 1;
}

// `here` at `large` where it was `before` at `small`, if it is a power of that at `world`.
double grown(double before, double here, double small, double large, double world) {
  if (before <= 0 || here <= 0) return here;
  return here * std::pow(here / before, std::log(world / large) / std::log(large / small));
}

// The line through two points of a curve with positive coordinates, at `bytes`.
double on_line(double x0, double y0, double x1, double y1, double bytes) {
  return x1 > x0 ? y0 + (y1 - y0) * (bytes - x0) / (x1 - x0) : y0;
}

}  // namespace

CostModel::CostModel(MachineFacts machine, std::uint32_t ranks_per_host, std::uint32_t slots,
                     const HostCosts& costs)
    : world_(machine.world()),
      slots_(slots),
      costs_(costs),
      in_memory_(machine.memory_within_hosts && machine.hosts.size() == 1) {
  if (world_ > kMostSimulated) {
    add_smaller_worlds(machine, ranks_per_host);
  } else {
    scales_.push_back({std::move(machine), ranks_per_host});
  }
}

// Half as many hosts, or ranks of one host, in the first as in the second.
void CostModel::add_smaller_worlds(const MachineFacts& machine, std::uint32_t ranks_per_host) {
  HostFacts host = machine.hosts.front();
  for (const HostFacts& one : machine.hosts) {
    if (one.cores != 0) host.cores = host.cores == 0 ? one.cores : std::min(host.cores, one.cores);
    if (one.nic_bytes_per_second == 0) continue;
    host.nic_bytes_per_second = host.nic_bytes_per_second == 0
                                    ? one.nic_bytes_per_second
                                    : std::min(host.nic_bytes_per_second, one.nic_bytes_per_second);
  }
  const bool one_host = machine.hosts.size() == 1;
  const std::uint32_t most_on_host = kMostSimulated / 4;
  const std::uint32_t ranks = std::min(std::max(ranks_per_host, 1U), most_on_host);
  for (const std::uint32_t size : {kMostSimulated / 2, kMostSimulated}) {
    const std::uint32_t each = one_host ? size : ranks;
    // As crowded as the true one.
    HostFacts scaled = host;
    if (one_host && host.cores != 0) {
      scaled.cores = std::max(1U, host.cores * size / machine.world());
    }
    const std::uint32_t hosts = one_host ? 1 : std::max(2U, size / each);
    scales_.push_back(
        {alike_hosts(hosts, each, scaled, machine.memory_within_hosts), one_host ? size : each});
  }
}

double CostModel::sample(const Scale& scale, const CatalogueEntry& entry, std::uint64_t slice_bytes,
                         std::uint64_t bytes) const {
  const std::uint32_t world = scale.machine.world();
  const auto program = [&](std::uint32_t rank) {
    return entry.build(rank, world, 0, scale.ranks_per_host);
  };
  const sim::Message message =
      message_for(entry, program(0), bytes, slice_bytes, scale.ranks_per_host);
  const auto timeline = sim::simulate(program, world, model_of(scale.machine, costs_), message,
                                      {.slots = std::max(slots_, entry.min_slots), .record = true});
  // A schedule that cannot be simulated is not chosen.
  if (!timeline) return std::numeric_limits<double>::infinity();
  return std::max(timeline->seconds, shared_bound(scale.machine, costs_, *timeline));
}

CostModel::Curve CostModel::simulated(const Scale& scale, const CatalogueEntry& entry,
                                      std::uint64_t slice_bytes) const {
  const auto tile = static_cast<double>(
      bytes_of_tile(entry, scale.machine.world(), scale.ranks_per_host, slice_bytes));
  Curve curve;
  for (const double tiles : kTiles) {
    const auto bytes = std::max(kLeastBytes, static_cast<std::uint64_t>(tile * tiles));
    Point next{static_cast<double>(bytes), sample(scale, entry, slice_bytes, bytes)};
    // More bytes never take less time: where the simulator says so, that is how tiles happen to
    // fit.
    if (!curve.empty()) next.seconds = std::max(next.seconds, curve.back().seconds);
    curve.push_back(next);
  }
  return curve;
}

// The curve of the true world from those of two smaller ones. What one tile adds to the time is a
// power of the number of other ranks, its bytes are one of the number of ranks: a ring's hops and
// tiles grow with the world, a tree's tiles do not.
CostModel::Curve CostModel::extrapolated(const Curve& half, const Curve& whole) const {
  const double small = scales_.front().machine.world(), large = scales_.back().machine.world();
  Curve curve;
  Point before{0, 0}, here{0, 0}, sum{0, 0};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    sum.bytes +=
        grown(half[i].bytes - before.bytes, whole[i].bytes - here.bytes, small, large, world_);
    sum.seconds += grown(half[i].seconds - before.seconds, whole[i].seconds - here.seconds,
                         small - 1, large - 1, world_ - 1.0);
    curve.push_back(sum);
    before = half[i];
    here = whole[i];
  }
  return curve;
}

const CostModel::Curve& CostModel::curve(const CatalogueEntry& entry, std::uint64_t slice_bytes) {
  Curve& curve = curves_[{&entry, slice_bytes}];
  if (!curve.empty()) return curve;
  curve = simulated(scales_.back(), entry, slice_bytes);
  if (scales_.size() > 1) {
    curve = extrapolated(simulated(scales_.front(), entry, slice_bytes), curve);
  }
  return curve;
}

double CostModel::seconds(const CatalogueEntry& entry, std::uint64_t slice_bytes,
                          std::uint64_t bytes) {
  const Curve& points = curve(entry, slice_bytes);
  const auto size = static_cast<double>(bytes);
  std::size_t next = 1;
  while (next + 1 < points.size() && points[next].bytes < size) ++next;
  const Point& low = points[next - 1];
  const Point& high = points[next];
  const double whole =
      on_line(low.bytes, low.seconds, high.bytes, high.seconds, std::max(size, low.bytes));
  return in_memory_ ? whole * saved(entry, costs_.saving, bytes, world_) : whole;
}

}  // namespace gyre
