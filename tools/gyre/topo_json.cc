#include "tools/gyre/topo_json.hpp"

#include <nlohmann/json.hpp>

#include "tools/gyre/topo_text.hpp"
#include "topology/paths.hpp"

namespace gyre::tools {

using namespace topo;  // NOLINT(google-build-using-namespace): it speaks of machines throughout
namespace {

using Json = nlohmann::ordered_json;

Json figure(Figure value) { return value ? Json(*value) : Json(); }

Json known(int value) { return value >= 0 ? Json(value) : Json(); }

void add_facts(const Node& node, Json& json) {
  if (const CpuFacts* cpu = node.cpu()) {
    json["numa"] = known(cpu->numa);
    json["package"] = known(cpu->package);
    json["cores"] = cpu->cores;
    json["cache_bytes"] = cpu->cache_bytes;
    json["affinity"] = cpu->affinity;
    json["arch"] = cpu->arch;
    json["vendor"] = cpu->vendor;
  } else if (const GpuFacts* gpu = node.gpu()) {
    json["model"] = gpu->model;
    json["compute"] = gpu->compute;
    json["gcn"] = gpu->gcn;
    json["rank"] = known(gpu->rank);
    json["direct_rdma"] = gpu->direct_rdma;
  } else if (const NicFacts* nic = node.nic()) {
    json["gb_per_s"] = figure(nic->bandwidth);
    json["latency_us"] = figure(nic->latency);
    json["port"] = nic->port;
    json["verbs"] = nic->verbs;
    json["direct_rdma"] = nic->direct_rdma;
    json["interface"] = nic->interface;
    json["rail"] = known(nic->rail);
    json["up"] = nic->up;
  }
}

Json nodes_json(const Topology& topology) {
  Json nodes = Json::array();
  for (NodeId id = 0; id < topology.nodes().size(); ++id) {
    const Node& node = topology.node(id);
    Json json{{"id", id}, {"kind", name_of(node.kind)}, {"name", node.name}, {"index", node.index}};
    if (node.kind != NodeKind::net_switch) json["host"] = node.host;
    json["parent"] = node.parent == kNoNode ? Json() : Json(node.parent);
    if (!node.pci.bus.empty()) json["pci"] = node.pci.bus;
    add_facts(node, json);
    nodes.push_back(std::move(json));
  }
  return nodes;
}

Json links_json(const Topology& topology) {
  Json links = Json::array();
  for (NodeId from = 0; from < topology.nodes().size(); ++from) {
    for (const Link& link : topology.links(from)) {
      // Both directions are alike.
      if (link.to < from) continue;
      links.push_back({{"from", from},
                       {"to", link.to},
                       {"kind", name_of(link.kind)},
                       {"count", link.count},
                       {"gb_per_s", figure(link.bandwidth)},
                       {"latency_us", figure(link.latency)}});
    }
  }
  return links;
}

Json paths_json(const Topology& topology) {
  Json paths = Json::array();
  const auto devices = topology.devices();
  if (devices.size() > kMostInMatrix) return paths;
  for (const NodeId from : devices) {
    for (const NodeId to : devices) {
      if (from == to) continue;
      const Path path = shortest_path(topology, from, to);
      paths.push_back({{"from", from},
                       {"to", to},
                       {"kind", label_of(path)},
                       {"gb_per_s", figure(path.bandwidth)},
                       {"latency_us", figure(path.latency)},
                       {"nodes", path.nodes},
                       {"widest_gb_per_s", figure(widest_path(topology, from, to).bandwidth)}});
    }
  }
  return paths;
}

Json orders_json(const Orders& orders) {
  Json rings = Json::array();
  for (const Ring& ring : orders.rings) {
    rings.push_back(
        {{"gb_per_s", figure(ring.bandwidth)}, {"direct", ring.direct}, {"order", ring.order}});
  }
  Json trees = Json::array();
  for (const Tree& tree : orders.trees) {
    trees.push_back({{"gb_per_s", figure(tree.bandwidth)},
                     {"depth", tree.depth},
                     {"nodes", tree.nodes},
                     {"parents", tree.parents}});
  }
  return {{"rings", std::move(rings)},
          {"gb_per_s", figure(orders.bandwidth)},
          {"best", orders.best},
          {"trees", std::move(trees)},
          {"host_steps", orders.host_steps},
          {"rail_crossings", orders.rail_crossings}};
}

}  // namespace

std::string topo_json(const Topology& topology, const Orders& orders) {
  Json json;
  json["hosts"] = std::vector<std::string>(topology.hosts().begin(), topology.hosts().end());
  json["nodes"] = nodes_json(topology);
  json["links"] = links_json(topology);
  json["paths"] = paths_json(topology);
  json["orders"] = orders_json(orders);
  json["remarks"] = std::vector<std::string>(topology.remarks().begin(), topology.remarks().end());
  // Names come from files: what is no UTF-8 must not throw.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace gyre::tools
