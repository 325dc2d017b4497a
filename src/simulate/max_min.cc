#include "simulate/max_min.hpp"

#include <algorithm>
#include <cmath>

namespace gyre::sim {
namespace {

// Sums of rates differ from the capacity they fill by rounding.
constexpr double kNearlyFull = 1 - 1e-9;
constexpr double kOverfull = 1 + 1e-12;

}  // namespace

MaxMin::MaxMin(std::span<const double> capacities) {
  links_.resize(capacities.size());
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

std::uint32_t MaxMin::add_flow(std::span<const std::uint32_t> route, double most) {
  Flow flow;
  flow.first_hop = static_cast<std::uint32_t>(hops_.size());
  flow.hops = static_cast<std::uint32_t>(route.size());
  flow.most = most;
  hops_.insert(hops_.end(), route.begin(), route.end());
  positions_.resize(hops_.size());
  flows_.push_back(flow);
  return static_cast<std::uint32_t>(flows_.size() - 1);
}

bool MaxMin::full(const Link& link) { return link.load >= link.capacity * kNearlyFull; }

void MaxMin::start(std::uint32_t flow) {
  const Flow& self = flows_[flow];
  for (std::uint32_t hop = self.first_hop; hop < self.first_hop + self.hops; ++hop) {
    Link& link = links_[hops_[hop]];
    positions_[hop] = static_cast<std::uint32_t>(link.members.size());
    link.members.push_back({flow, hop});
    // Surely full with it: spares finding that out later.
    if (link.load + self.most > link.capacity) include_link(hops_[hop]);
  }
  include_flow(flow);
}

// Where a link was full, the others may have waited for what this one leaves.
void MaxMin::stop(std::uint32_t flow) {
  Flow& self = flows_[flow];
  for (std::uint32_t hop = self.first_hop; hop < self.first_hop + self.hops; ++hop) {
    Link& link = links_[hops_[hop]];
    if (full(link)) include_link(hops_[hop]);
    const Member last = link.members.back();
    link.members[positions_[hop]] = last;
    positions_[last.hop] = positions_[hop];
    link.members.pop_back();
    link.load = link.members.empty() ? 0 : link.load - self.rate;
  }
  self.rate = 0;
}

void MaxMin::include_flow(std::uint32_t flow) {
  if (flows_[flow].region == epoch_) return;
  flows_[flow].region = epoch_;
  region_flows_.push_back(flow);
  old_rates_.push_back(flows_[flow].rate);
}

void MaxMin::include_link(std::uint32_t link) {
  if (links_[link].region == epoch_) return;
  links_[link].region = epoch_;
  region_links_.push_back(link);
}

// A link that is not full binds nobody, so changes do not pass through it: only full links bring
// all their flows into the region. Whether the others stay below their capacity is looked at
// afterwards.
void MaxMin::grow() {
  while (grown_links_ < region_links_.size() || grown_flows_ < region_flows_.size()) {
    while (grown_links_ < region_links_.size()) {
      for (const Member& member : links_[region_links_[grown_links_]].members) {
        include_flow(member.flow);
      }
      ++grown_links_;
    }
    if (grown_flows_ == region_flows_.size()) continue;
    const Flow& flow = flows_[region_flows_[grown_flows_++]];
    for (std::uint32_t hop = flow.first_hop; hop < flow.first_hop + flow.hops; ++hop) {
      Link& link = links_[hops_[hop]];
      if (link.region == epoch_) continue;
      if (full(link) || std::isinf(flow.most)) {
        include_link(hops_[hop]);
      } else if (link.border != epoch_) {
        link.border = epoch_;
        border_.push_back(hops_[hop]);
      }
    }
  }
}

void MaxMin::fix(std::uint32_t flow, double rate) {
  Flow& self = flows_[flow];
  self.rate = rate;
  self.fixed = true;
  for (std::uint32_t hop = self.first_hop; hop < self.first_hop + self.hops; ++hop) {
    Link& link = links_[hops_[hop]];
    if (link.region != epoch_) continue;
    link.left = std::max(0.0, link.left - rate);
    --link.waiting;
  }
}

// The link of the region with the least share for each of its waiting flows; none if no flow waits
// at any. Shares only rise as flows get less, so the heap may hold old ones.
const MaxMin::Share* MaxMin::least_share() {
  const auto later = [](const Share& a, const Share& b) {
    return a.share != b.share ? a.share > b.share : a.link > b.link;
  };
  while (!shares_.empty()) {
    Share& least = shares_.front();
    const Link& link = links_[least.link];
    const double now = link.waiting == 0 ? 0 : link.left / link.waiting;
    if (link.waiting != 0 && now <= least.share) {
      least.share = now;
      return &least;
    }
    std::pop_heap(shares_.begin(), shares_.end(), later);
    if (link.waiting == 0) {
      shares_.pop_back();
      continue;
    }
    shares_.back().share = now;
    std::push_heap(shares_.begin(), shares_.end(), later);
  }
  return nullptr;
}

// Progressive filling: all rates rise together; who reaches its own greatest rate, or whose link
// has no more to give, stays there.
void MaxMin::fill() {
  shares_.clear();
  for (const std::uint32_t index : region_links_) {
    Link& link = links_[index];
    link.left = link.capacity;
    link.waiting = static_cast<std::uint32_t>(link.members.size());
    if (link.waiting != 0) shares_.push_back({link.capacity / link.waiting, index});
  }
  std::make_heap(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
    return a.share != b.share ? a.share > b.share : a.link > b.link;
  });
  by_most_ = region_flows_;
  for (const std::uint32_t flow : region_flows_) flows_[flow].fixed = false;
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    return flows_[a].most < flows_[b].most;
  };
  if (!std::is_sorted(by_most_.begin(), by_most_.end(), less)) {
    std::sort(by_most_.begin(), by_most_.end(), less);
  }
  for (std::size_t next = 0; next < by_most_.size();) {
    const std::uint32_t flow = by_most_[next];
    if (flows_[flow].fixed) {
      ++next;
      continue;
    }
    const Share* least = least_share();
    if (least == nullptr || flows_[flow].most <= least->share) {
      fix(flow, flows_[flow].most);
      continue;
    }
    const Share bottleneck = *least;
    for (const Member& member : links_[bottleneck.link].members) {
      if (!flows_[member.flow].fixed) fix(member.flow, bottleneck.share);
    }
  }
}

// Loads with the new rates. True, and nothing changed, if a link of the border has more than it can
// carry: it belongs to the region then.
bool MaxMin::update_loads() {
  for (const std::uint32_t link : border_) links_[link].left = links_[link].load;
  for (std::size_t i = 0; i < region_flows_.size(); ++i) {
    const Flow& flow = flows_[region_flows_[i]];
    for (std::uint32_t hop = flow.first_hop; hop < flow.first_hop + flow.hops; ++hop) {
      Link& link = links_[hops_[hop]];
      if (link.region != epoch_) link.left += flow.rate - old_rates_[i];
    }
  }
  bool grew = false;
  for (const std::uint32_t link : border_) {
    if (links_[link].region == epoch_ || links_[link].left <= links_[link].capacity * kOverfull) {
      continue;
    }
    include_link(link);
    grew = true;
  }
  if (grew) return true;
  const auto set = [](Link& link, double load) {
    link.load = load;
    link.peak = std::max(link.peak, load);
  };
  for (const std::uint32_t link : border_) {
    if (links_[link].region != epoch_) set(links_[link], links_[link].left);
  }
  // Summed up anew, so that rounding does not add up.
  for (const std::uint32_t index : region_links_) {
    double load = 0;
    for (const Member& member : links_[index].members) load += flows_[member.flow].rate;
    set(links_[index], load);
  }
  return false;
}

void MaxMin::collect_changes() {
  for (std::size_t i = 0; i < region_flows_.size(); ++i) {
    if (flows_[region_flows_[i]].rate != old_rates_[i]) changed_.push_back(region_flows_[i]);
  }
}

std::span<const std::uint32_t> MaxMin::settle() {
  changed_.clear();
  if (region_flows_.empty() && region_links_.empty()) return changed_;
  do {
    grow();
    fill();
  } while (update_loads());
  collect_changes();
  region_flows_.clear();
  region_links_.clear();
  border_.clear();
  old_rates_.clear();
  grown_flows_ = grown_links_ = 0;
  ++epoch_;
  return changed_;
}

}  // namespace gyre::sim
