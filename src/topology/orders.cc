#include "topology/orders.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "topology/host_plan.hpp"

namespace gyre::topo {
namespace {

using Plans = std::vector<std::shared_ptr<const HostPlan>>;

Plans plan_hosts(const Topology& topology, const RingOptions& options) {
  std::map<std::string, std::shared_ptr<const HostPlan>> by_shape;
  Plans plans;
  for (std::uint32_t host = 0; host < topology.hosts().size(); ++host) {
    auto& plan = by_shape[shape_of(topology, host)];
    if (!plan) plan = std::make_shared<HostPlan>(plan_host(topology, host, options));
    plans.push_back(plan);
  }
  return plans;
}

// Nothing is less than what is not known.
Figure least_of(Figure a, Figure b) { return a && b ? Figure(std::min(*a, *b)) : Figure(); }

// A way through a host's devices for one ring of the cluster.
struct Passage {
  std::vector<int> order;
  int rail_in = -1, rail_out = -1;
};

// Ways that start at the device of rail `in`, along the host's rings: the first whose end sends on
// rail `out`, or (out < 0) on one that is not in `taken` yet.
std::optional<Passage> along_ring(const HostPlan& plan, std::size_t first_ring, int in, int out,
                                  const std::vector<bool>& taken, bool backwards) {
  const int start = plan.device_of_rail[static_cast<std::size_t>(in)];
  for (std::size_t i = 0; i < plan.rings.size(); ++i) {
    Cycle order = plan.rings[(first_ring + i) % plan.rings.size()];
    if (backwards) std::reverse(order.begin(), order.end());
    std::rotate(order.begin(), std::find(order.begin(), order.end(), start), order.end());
    const int end = plan.rail_of_device[static_cast<std::size_t>(order.back())];
    const bool fits = out >= 0 ? end == out : !taken[static_cast<std::size_t>(end)];
    if (fits) return Passage{std::move(order), in, end};
  }
  return std::nullopt;
}

// For each rail the passage of ring number `rail` through a host that stands at an even place: in
// on that rail, out on one that no other ring leaves on, if rings allow.
std::vector<Passage> even_passages(const HostPlan& plan) {
  const std::size_t rails = plan.device_of_rail.size();
  std::vector<bool> taken(rails, false);
  std::vector<Passage> passages;
  for (std::size_t rail = 0; rail < rails; ++rail) {
    const int in = static_cast<int>(rail);
    auto passage = along_ring(plan, rail, in, -1, taken, false);
    if (!passage) {
      const std::vector<bool> none(rails, false);
      passage = along_ring(plan, rail, in, -1, none, false);
    }
    taken[static_cast<std::size_t>(passage->rail_out)] = true;
    passages.push_back(*std::move(passage));
  }
  return passages;
}

// In on one rail and out on another: along a ring, or over the cheapest way that joins the two.
Passage passage_between(const HostPlan& plan, std::size_t ring, int in, int out) {
  const auto rails = static_cast<int>(plan.device_of_rail.size());
  in %= rails;
  out %= rails;
  const std::vector<bool> none(static_cast<std::size_t>(rails), false);
  for (const bool backwards : {true, false}) {
    if (auto found = along_ring(plan, ring, in, out, none, backwards)) return *std::move(found);
  }
  const int from = plan.device_of_rail[static_cast<std::size_t>(in)];
  const int to = plan.device_of_rail[static_cast<std::size_t>(out)];
  if (from != to) return {cheapest_way(plan.costs, from, to), in, out};
  Passage around{plan.rings[ring % plan.rings.size()], in, in};
  std::rotate(around.order.begin(), std::find(around.order.begin(), around.order.end(), from),
              around.order.end());
  around.rail_out = plan.rail_of_device[static_cast<std::size_t>(around.order.back())];
  return around;
}

// Ring number `ring` through all hosts: every other host the other way around, so that a step from
// host to host stays on its rail.
std::vector<Passage> passages_of(const Plans& plans, std::size_t ring, const Passage& first) {
  std::vector<Passage> passages{first};
  std::map<std::pair<const HostPlan*, bool>, Passage> known;
  for (std::size_t host = 1; host < plans.size(); ++host) {
    const bool odd = host % 2 == 1;
    auto [at, fresh] = known.try_emplace({plans[host].get(), odd});
    if (fresh) {
      at->second = odd ? passage_between(*plans[host], ring, first.rail_out, first.rail_in)
                       : passage_between(*plans[host], ring, first.rail_in, first.rail_out);
    }
    passages.push_back(at->second);
  }
  return passages;
}

// Each ring's part of its hosts' rings, or of an interface that it has for itself.
Figure ring_bandwidth(const Plans& plans, const std::vector<Passage>& passages, std::size_t rings) {
  Figure least = std::numeric_limits<double>::infinity();
  for (std::size_t host = 0; host < plans.size(); ++host) {
    const HostPlan& plan = *plans[host];
    for (const int rail : {passages[host].rail_in, passages[host].rail_out}) {
      least = least_of(least, plan.rail_bandwidth[static_cast<std::size_t>(rail)]);
    }
    if (passages[host].order.size() < 2) continue;
    least = least_of(least, plan.ring_bandwidth
                                ? Figure(*plan.ring_bandwidth / static_cast<double>(rings))
                                : Figure());
  }
  return least;
}

void add_cluster_ring(const Topology& topology, const Plans& plans,
                      const std::vector<Passage>& passages, std::size_t rings, Orders& orders) {
  Ring ring;
  for (std::uint32_t host = 0; host < plans.size(); ++host) {
    const auto devices = topology.devices(host);
    for (const int at : passages[host].order) {
      ring.order.push_back(devices[static_cast<std::size_t>(at)]);
    }
    const Passage& next = passages[(host + 1) % passages.size()];
    ++orders.host_steps;
    if (passages[host].rail_out != next.rail_in) ++orders.rail_crossings;
  }
  ring.bandwidth = ring_bandwidth(plans, passages, rings);
  orders.rings.push_back(std::move(ring));
}

// The trees of the hosts, joined at the devices of one rail by a tree over hosts.
Tree cluster_tree(const Topology& topology, const Plans& plans, const Parents& hosts,
                  std::size_t which) {
  Tree tree;
  tree.bandwidth = std::numeric_limits<double>::infinity();
  std::vector<int> offset, leader;
  for (std::uint32_t host = 0; host < plans.size(); ++host) {
    const HostPlan& plan = *plans[host];
    const auto devices = topology.devices(host);
    const bool railed = !plan.device_of_rail.empty();
    const std::size_t rail = railed ? which % plan.device_of_rail.size() : 0;
    leader.push_back(railed ? plan.device_of_rail[rail] : 0);
    tree.bandwidth = least_of(tree.bandwidth, railed ? plan.rail_bandwidth[rail] : Figure());
    if (devices.size() > 1) {
      tree.bandwidth = least_of(tree.bandwidth, plan.tree_bandwidth[which % plan.trees.size()]);
    }
    offset.push_back(static_cast<int>(tree.nodes.size()));
    tree.nodes.insert(tree.nodes.end(), devices.begin(), devices.end());
    if (devices.size() == 1) {
      tree.parents.push_back(-1);
    } else if (!devices.empty()) {
      for (const int parent : rooted_at(plan.trees[which % plan.trees.size()], leader.back())) {
        tree.parents.push_back(parent < 0 ? -1 : parent + offset.back());
      }
    }
  }
  for (std::size_t host = 0; host < plans.size(); ++host) {
    if (hosts[host] < 0) continue;
    const auto up = static_cast<std::size_t>(hosts[host]);
    tree.parents[static_cast<std::size_t>(offset[host] + leader[host])] = offset[up] + leader[up];
  }
  tree.depth = depth_of(tree.parents);
  return tree;
}

bool every_host(const Plans& plans, bool (*holds)(const HostPlan&)) {
  return std::all_of(plans.begin(), plans.end(), [&](const auto& plan) { return holds(*plan); });
}

Orders one_host(const Topology& topology, const RingOptions& options) {
  const auto devices = topology.devices(0);
  const RingSet rings = find_rings(topology, devices, options);
  return {rings.rings, rings.bandwidth, rings.best, find_trees(topology, devices, rings), 0, 0};
}

// Without known interfaces there are no rails: one ring over the hosts in order.
void add_plain_ring(const Topology& topology, const Plans& plans, Orders& orders) {
  Ring ring;
  for (std::uint32_t host = 0; host < plans.size(); ++host) {
    const auto devices = topology.devices(host);
    for (const int at : plans[host]->rings.front()) {
      ring.order.push_back(devices[static_cast<std::size_t>(at)]);
    }
    ++orders.host_steps;
  }
  orders.rings.push_back(std::move(ring));
}

}  // namespace

std::vector<NodeId> rails_of(const Topology& topology, std::uint32_t host) {
  const auto all = topology.of(host, NodeKind::nic);
  const bool verbs = std::any_of(all.begin(), all.end(), [&](NodeId id) {
    const NicFacts& nic = *topology.node(id).nic();
    return nic.up && nic.verbs;
  });
  double fastest = 0;
  for (const NodeId id : all) {
    const NicFacts& nic = *topology.node(id).nic();
    if (nic.up && nic.verbs == verbs) fastest = std::max(fastest, nic.bandwidth.value_or(0));
  }
  std::vector<NodeId> rails;
  for (const NodeId id : all) {
    const NicFacts& nic = *topology.node(id).nic();
    // A management interface is not a rail.
    constexpr double kMuchSlower = 2;
    if (nic.up && nic.verbs == verbs && nic.bandwidth.value_or(fastest) * kMuchSlower >= fastest) {
      rails.push_back(id);
    }
  }
  std::stable_sort(rails.begin(), rails.end(), [&](NodeId a, NodeId b) {
    return topology.node(a).nic()->rail < topology.node(b).nic()->rail;
  });
  return rails;
}

Orders find_orders(const Topology& topology, const RingOptions& options) {
  if (topology.hosts().empty()) return {};
  if (topology.hosts().size() == 1) return one_host(topology, options);
  const Plans plans = plan_hosts(topology, options);
  Orders orders;
  if (!every_host(plans, [](const HostPlan& plan) { return !plan.rings.empty(); })) return orders;
  orders.best = every_host(plans, [](const HostPlan& plan) { return plan.best; });

  if (every_host(plans, [](const HostPlan& plan) { return !plan.device_of_rail.empty(); })) {
    const std::vector<Passage> first = even_passages(*plans.front());
    const std::size_t rings =
        std::min<std::size_t>(first.size(), static_cast<std::size_t>(options.most));
    orders.bandwidth = 0;
    for (std::size_t ring = 0; ring < rings; ++ring) {
      add_cluster_ring(topology, plans, passages_of(plans, ring, first[ring]), rings, orders);
      const Figure added = orders.rings.back().bandwidth;
      orders.bandwidth = orders.bandwidth && added ? Figure(*orders.bandwidth + *added) : Figure();
    }
  } else {
    add_plain_ring(topology, plans, orders);
  }
  const auto pair = double_binary_tree(static_cast<int>(plans.size()));
  for (std::size_t which = 0; which < pair.size(); ++which) {
    orders.trees.push_back(cluster_tree(topology, plans, pair[which], which));
  }
  return orders;
}

}  // namespace gyre::topo
