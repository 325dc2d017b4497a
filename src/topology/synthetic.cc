#include "topology/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parse_value.hpp"
#include "topology/builder.hpp"
#include "topology/synthetic_host.hpp"

namespace gyre::topo {
namespace {

constexpr std::int64_t kMostHosts = 4096;

enum class Network : std::uint8_t { rail, fat_tree };

struct Plan {
  std::vector<HostModel> hosts;
  Network network = Network::rail;
};

Error wrong(std::string_view text, std::string_view why) {
  std::string known;
  for (const HostModel& model : host_models()) known += fmt::format(" {}", model.name);
  return {Status::invalid_argument,
          fmt::format("synthetic machine \"{}\": {}; write [Nx]MODEL[+...][:rail|:fat-tree] with a "
                      "MODEL of{}",
                      text, why, known)};
}

// "32xmi300x" or "mi300x".
Result<void> read_hosts(std::string_view text, std::string_view part, Plan& plan) {
  std::int64_t count = 1;
  const std::size_t digits = std::min(part.find_first_not_of("0123456789"), part.size());
  if (digits > 0 && digits < part.size() && part[digits] == 'x') {
    count = parse_integer(part.substr(0, digits)).value_or(0);
    part.remove_prefix(digits + 1);
  }
  const auto models = host_models();
  const auto model = std::find_if(models.begin(), models.end(),
                                  [&](const HostModel& known) { return known.name == part; });
  if (model == models.end()) return wrong(text, fmt::format("\"{}\" is not known", part));
  if (count < 1 || count + std::ssize(plan.hosts) > kMostHosts) {
    return wrong(text, fmt::format("1 to {} hosts are possible", kMostHosts));
  }
  plan.hosts.insert(plan.hosts.end(), static_cast<std::size_t>(count), *model);
  return {};
}

Result<Plan> read_plan(std::string_view text) {
  Plan plan;
  std::string_view hosts = text;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view network = text.substr(colon + 1);
    if (network != "rail" && network != "fat-tree") {
      return wrong(text, fmt::format("\"{}\" is no network", network));
    }
    if (network == "fat-tree") plan.network = Network::fat_tree;
    hosts = text.substr(0, colon);
  }
  while (true) {
    const std::size_t plus = std::min(hosts.find('+'), hosts.size());
    GYRE_TRY(read_hosts(text, hosts.substr(0, plus), plan));
    if (plus == hosts.size()) return plan;
    hosts.remove_prefix(plus + 1);
  }
}

// Joins interfaces by two layers of switches.
class NetworkMaker {
 public:
  explicit NetworkMaker(TopologyBuilder& builder) : builder_(builder) {}

  // One leaf for the same rail of a group of hosts, or for all interfaces of one.
  void join(const std::vector<std::vector<NodeId>>& nics_of_hosts, Network network) {
    constexpr std::size_t kRailHosts = 64, kLeafHosts = 8;
    const std::size_t group = network == Network::rail ? kRailHosts : kLeafHosts;
    std::size_t rails = 0;
    for (const auto& nics : nics_of_hosts) rails = std::max(rails, nics.size());
    for (std::size_t first = 0; first < nics_of_hosts.size(); first += group) {
      const std::size_t last = std::min(first + group, nics_of_hosts.size());
      if (network == Network::fat_tree) {
        const NodeId leaf = add_switch("leaf");
        for (std::size_t host = first; host < last; ++host) {
          for (const NodeId nic : nics_of_hosts[host]) plug(nic, leaf);
        }
        continue;
      }
      for (std::size_t rail = 0; rail < rails; ++rail) {
        const NodeId leaf = add_switch(fmt::format("rail{}-", rail));
        for (std::size_t host = first; host < last; ++host) {
          if (rail < nics_of_hosts[host].size()) plug(nics_of_hosts[host][rail], leaf);
        }
      }
    }
    join_leaves();
  }

 private:
  struct Leaf {
    NodeId id;
    double bandwidth;  // of all that is plugged in
    int ports;
  };
  // A model's figure: a switch and a cable.
  static constexpr double kHop = 1;

  NodeId add_switch(const std::string& name) {
    Node node;
    node.kind = NodeKind::net_switch;
    node.index = next_++;
    node.name = fmt::format("{}{}", name, node.index);
    const NodeId id = builder_.add(std::move(node));
    leaves_.push_back({id, 0, 0});
    return id;
  }

  void plug(NodeId nic, NodeId leaf) {
    const double bandwidth = builder_.node(nic).nic()->bandwidth.value_or(0);
    builder_.connect(nic, leaf, {kNoNode, LinkKind::net, 1, bandwidth, kHop});
    leaves_.back().bandwidth += bandwidth;
    ++leaves_.back().ports;
  }

  // As much upwards as downwards, spread over the spines.
  void join_leaves() {
    if (leaves_.size() < 2) return;
    constexpr std::size_t kMostSpines = 8;
    const std::vector<Leaf> leaves = leaves_;
    const std::size_t spines = std::min(kMostSpines, leaves.size());
    for (std::size_t i = 0; i < spines; ++i) {
      const NodeId spine = add_switch("spine");
      for (const Leaf& leaf : leaves) {
        const int ports = std::max(1, leaf.ports / static_cast<int>(spines));
        builder_.connect(
            leaf.id, spine,
            {kNoNode, LinkKind::net, ports, leaf.bandwidth / static_cast<double>(spines), kHop});
      }
    }
  }

  TopologyBuilder& builder_;
  std::vector<Leaf> leaves_;
  int next_ = 0;
};

}  // namespace

std::vector<SyntheticModel> synthetic_models() {
  std::vector<SyntheticModel> models;
  for (const HostModel& model : host_models()) models.push_back({model.name, model.what});
  return models;
}

Result<Topology> synthetic_topology(std::string_view text) {
  GYRE_TRY_ASSIGN(const Plan plan, read_plan(text));
  TopologyBuilder builder;
  std::vector<std::vector<NodeId>> nics;
  for (const HostModel& model : plan.hosts) {
    const auto first = static_cast<NodeId>(builder.size());
    const std::uint32_t host = builder.add_host(fmt::format("{}-{}", model.name, nics.size()));
    model.add(builder, host);
    auto& own = nics.emplace_back();
    for (NodeId id = first; id < builder.size(); ++id) {
      if (builder.node(id).kind == NodeKind::nic) own.push_back(id);
    }
  }
  if (plan.hosts.size() > 1) NetworkMaker(builder).join(nics, plan.network);
  return std::move(builder).build();
}

}  // namespace gyre::topo
