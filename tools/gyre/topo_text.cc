#include "tools/gyre/topo_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "topology/direct.hpp"
#include "topology/paths.hpp"
#include "topology/transports.hpp"

namespace gyre::tools {

using namespace topo;  // NOLINT(google-build-using-namespace): it speaks of machines throughout
namespace {

using Children = std::vector<std::vector<NodeId>>;

Children children_of(const Topology& topology) {
  Children children(topology.nodes().size());
  for (NodeId id = 0; id < topology.nodes().size(); ++id) {
    const NodeId parent = topology.node(id).parent;
    if (parent != kNoNode) children[parent].push_back(id);
  }
  return children;
}

std::string counted(std::size_t count, std::string_view what) {
  const bool sibilant = what.ends_with("ch");
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : sibilant ? "es" : "s");
}

void add_branch(const Topology& topology, const Children& children, NodeId id, int depth,
                std::string& text) {
  const Node& node = topology.node(id);
  const std::string detail = node_detail(topology, id);
  text +=
      fmt::format("{:{}}{}{}{}\n", "", depth * 2, node.name, detail.empty() ? "" : "  ", detail);
  for (const NodeId child : children[id]) add_branch(topology, children, child, depth + 1, text);
}

std::string host_tree(const Topology& topology, const Children& children, std::uint32_t host) {
  std::string text;
  for (const NodeId cpu : topology.of(host, NodeKind::cpu)) {
    add_branch(topology, children, cpu, 1, text);
  }
  std::string lost;
  for (const NodeKind kind : {NodeKind::bridge, NodeKind::gpu, NodeKind::nic}) {
    for (const NodeId id : topology.of(host, kind)) {
      if (topology.node(id).parent == kNoNode) add_branch(topology, children, id, 2, lost);
    }
  }
  if (!lost.empty()) text += "  where is not known:\n" + lost;
  const auto switches = topology.of(host, NodeKind::nvswitch);
  if (!switches.empty()) text += fmt::format("  {}\n", counted(switches.size(), "NVSwitch"));
  return text;
}

std::string cpu_detail(const CpuFacts& cpu) {
  std::vector<std::string> parts;
  if (cpu.package >= 0) parts.push_back(fmt::format("socket {}", cpu.package));
  if (!cpu.vendor.empty()) parts.push_back(cpu.vendor);
  if (cpu.cores > 0) parts.push_back(counted(static_cast<std::size_t>(cpu.cores), "core"));
  if (cpu.cache_bytes > 0) parts.push_back(fmt::format("{} MiB cache", cpu.cache_bytes >> 20));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string gpu_detail(const Topology& topology, NodeId id) {
  const Node& node = topology.node(id);
  const GpuFacts& gpu = *node.gpu();
  std::vector<std::string> parts;
  if (!gpu.model.empty()) parts.push_back(gpu.model);
  if (!gpu.gcn.empty()) parts.push_back(gpu.gcn.starts_with("gfx") ? gpu.gcn : "gfx" + gpu.gcn);
  if (!node.pci.bus.empty()) parts.push_back(node.pci.bus);
  std::map<LinkKind, std::pair<int, Figure>> links;
  for (const Link& link : topology.links(id)) {
    if (link.kind == LinkKind::pcie) {
      parts.push_back("PCIe " + bandwidth_text(link.bandwidth));
      continue;
    }
    auto [at, fresh] = links.try_emplace(link.kind, link.count, link.bandwidth);
    if (fresh) continue;
    auto& [count, bandwidth] = at->second;
    count += link.count;
    bandwidth = bandwidth && link.bandwidth ? Figure(*bandwidth + *link.bandwidth) : Figure();
  }
  for (const auto& [kind, sum] : links) {
    parts.push_back(fmt::format("{} {}",
                                counted(static_cast<std::size_t>(sum.first), name_of(kind)),
                                bandwidth_text(sum.second)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string nic_detail(const Node& node) {
  const NicFacts& nic = *node.nic();
  std::string text = bandwidth_text(nic.bandwidth);
  if (nic.verbs) text += ", verbs";
  if (nic.direct_rdma) text += ", reads GPUs' memory";
  if (!nic.interface.empty()) text += ", " + nic.interface;
  if (nic.rail >= 0) text += fmt::format(", rail {}", nic.rail);
  if (!nic.up) text += ", down";
  return text;
}

// Rows of cells, each column as wide as its widest.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

constexpr const char* kLegend =
    "  X = itself, NVn = n NVLinks, XGn = n xGMI links, C2C = processor's link, PIX = one PCI "
    "bridge,\n"
    "  PXB = several, PHB = host bridge, NODE = two of one NUMA node, SYS = between NUMA nodes,\n"
    "  NET = between hosts, ? = not known\n";

std::string names(const Topology& topology, const std::vector<NodeId>& order, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i) {
    text += (i == 0 ? "" : " ") + device_name(topology, order[i]);
  }
  return order.size() > most ? fmt::format("{} ... ({} in all)", text, order.size()) : text;
}

// "GPU4(GPU2(GPU1 GPU3) GPU6)"
std::string tree_names(const Topology& topology, const Tree& tree, int at) {
  std::string inside;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.parents[i] != at) continue;
    inside += (inside.empty() ? "" : " ") + tree_names(topology, tree, static_cast<int>(i));
  }
  if (at < 0) return inside;
  const std::string name = device_name(topology, tree.nodes[static_cast<std::size_t>(at)]);
  return inside.empty() ? name : fmt::format("{}({})", name, inside);
}

}  // namespace

std::string bandwidth_text(Figure bandwidth) {
  return bandwidth ? fmt::format("{:.4g} GB/s", *bandwidth) : "? GB/s";
}

std::string device_name(const Topology& topology, NodeId id) {
  const Node& node = topology.node(id);
  if (topology.hosts().size() < 2 || node.kind == NodeKind::net_switch) return node.name;
  return fmt::format("{}/{}", node.host, node.name);
}

std::string node_detail(const Topology& topology, NodeId id) {
  const Node& node = topology.node(id);
  if (const CpuFacts* cpu = node.cpu()) return cpu_detail(*cpu);
  if (node.gpu() != nullptr) return gpu_detail(topology, id);
  if (node.nic() != nullptr) return nic_detail(node);
  for (const Link& link : topology.links(id)) {
    if (link.to == node.parent && link.kind == LinkKind::pcie) {
      return (node.kind == NodeKind::bridge ? "bridge, PCIe " : "PCIe ") +
             bandwidth_text(link.bandwidth);
    }
  }
  return {};
}

std::string topo_tree(const Topology& topology) {
  const Children children = children_of(topology);
  std::string text;
  std::map<std::string, std::uint32_t> shown;  // by the text, the host
  std::map<std::string, std::size_t> alike;
  std::vector<std::string> order;
  for (std::uint32_t host = 0; host < topology.hosts().size(); ++host) {
    std::string tree = host_tree(topology, children, host);
    if (++alike[tree] == 1) {
      shown[tree] = host;
      order.push_back(std::move(tree));
    }
  }
  for (const std::string& tree : order) {
    text += topology.hosts().size() > 1
                ? fmt::format("{} (host {})", topology.hosts()[shown[tree]], shown[tree])
                : topology.hosts()[shown[tree]];
    if (alike[tree] > 1) text += fmt::format(" and {} like it", alike[tree] - 1);
    text += '\n' + tree;
  }
  if (!topology.net_switches().empty()) {
    text += fmt::format("network of {}\n", counted(topology.net_switches().size(), "switch"));
  }
  return text;
}

std::string topo_matrix(const Topology& topology) {
  const std::vector<NodeId> devices = topology.devices();
  if (devices.size() > kMostInMatrix) {
    return fmt::format("{} devices: a matrix is shown for up to {}\n", devices.size(),
                       kMostInMatrix);
  }
  std::vector<NodeId> all = devices;
  // Of several hosts, a device's own interfaces say what it is about; all would be too many.
  if (topology.hosts().size() == 1) {
    const auto nics = topology.of(0, NodeKind::nic);
    all.insert(all.end(), nics.begin(), nics.end());
  }
  std::vector<std::vector<std::string>> kinds(1), bandwidths(1);
  kinds[0].emplace_back();
  bandwidths[0].emplace_back("GB/s");
  for (const NodeId id : all) kinds[0].push_back(device_name(topology, id));
  kinds[0].emplace_back("NUMA");
  for (const NodeId id : devices) bandwidths[0].push_back(device_name(topology, id));
  for (const NodeId from : all) {
    auto& row = kinds.emplace_back(1, device_name(topology, from));
    for (const NodeId to : all) row.push_back(label_of(shortest_path(topology, from, to)));
    NodeId above = from;
    while (above != kNoNode && topology.node(above).kind != NodeKind::cpu) {
      above = topology.node(above).parent;
    }
    row.push_back(above == kNoNode ? "?" : std::to_string(topology.node(above).index));
  }
  for (const NodeId from : devices) {
    auto& row = bandwidths.emplace_back(1, device_name(topology, from));
    for (const NodeId to : devices) {
      const Figure bandwidth = widest_path(topology, from, to).bandwidth;
      row.push_back(from == to ? "-" : bandwidth ? fmt::format("{:.4g}", *bandwidth) : "?");
    }
  }
  return aligned(kinds) + kLegend + '\n' + aligned(bandwidths);
}

std::string topo_transports(const Topology& topology) {
  const std::vector<NodeId> devices = topology.devices();
  struct Group {
    NodeId a, b;
    std::size_t pairs;
    std::vector<TransportVerdict> verdicts;
  };
  std::map<std::string, Group> groups;
  // Of many devices, the first one stands for all.
  const std::size_t firsts = devices.size() > kMostInMatrix ? 1 : devices.size();
  for (std::size_t i = 0; i < firsts; ++i) {
    for (std::size_t j = i + 1; j < devices.size() && j < i + 256; ++j) {
      auto verdicts = transports_between(topology, devices[i], devices[j]);
      std::string key;
      for (const TransportVerdict& verdict : verdicts) {
        // Names of interfaces make no difference.
        key += fmt::format("{}{};", verdict.usable, verdict.name == "p2p" ? verdict.why : "");
      }
      const auto [at, fresh] =
          groups.try_emplace(key, Group{devices[i], devices[j], 0, std::move(verdicts)});
      ++at->second.pairs;
    }
  }
  std::string text;
  for (const auto& [key, group] : groups) {
    text +=
        fmt::format("{} to {}{}\n", device_name(topology, group.a), device_name(topology, group.b),
                    group.pairs > 1 ? fmt::format(", and {} pairs like it", group.pairs - 1) : "");
    for (const TransportVerdict& verdict : group.verdicts) {
      text += fmt::format("  {:<6}  {:<3}  {}\n", verdict.name, verdict.usable ? "yes" : "no",
                          verdict.why);
    }
  }
  return text;
}

std::string topo_orders(const Topology& topology, const Orders& orders) {
  constexpr std::size_t kMostNames = 16;
  std::string text = fmt::format("{}, {} together{}\n", counted(orders.rings.size(), "ring"),
                                 bandwidth_text(orders.bandwidth),
                                 orders.best ? "" : " (the best found within the search's budget)");
  for (std::size_t i = 0; i < orders.rings.size(); ++i) {
    const Ring& ring = orders.rings[i];
    text += fmt::format("  {:>2}  {:>10}  {}\n", i, bandwidth_text(ring.bandwidth),
                        names(topology, ring.order, kMostNames));
  }
  if (orders.host_steps > 0) {
    text += fmt::format("  {} of {} steps between hosts change the rail\n", orders.rail_crossings,
                        orders.host_steps);
  }
  text += counted(orders.trees.size(), "tree") + '\n';
  for (std::size_t i = 0; i < orders.trees.size(); ++i) {
    const Tree& tree = orders.trees[i];
    const bool small = tree.nodes.size() <= kMostNames;
    text += fmt::format(
        "  {:>2}  {:>10}  depth {}  {}\n", i, bandwidth_text(tree.bandwidth), tree.depth,
        small ? tree_names(topology, tree, -1) : fmt::format("({} devices)", tree.nodes.size()));
  }
  return text;
}

std::string topo_text(const Topology& topology, const Orders& orders) {
  std::string text = topo_tree(topology) + '\n' + topo_matrix(topology) + '\n' +
                     topo_transports(topology) + '\n' + topo_orders(topology, orders);
  for (const std::string& remark : topology.remarks()) text += fmt::format("note: {}\n", remark);
  // Names come from files: nothing in them may steer a terminal.
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f); }, '?');
  return text;
}

}  // namespace gyre::tools
