#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topology/link_facts.hpp"
#include "topology/nvidia.hpp"

namespace gyre::topo {
namespace {

// Ports that end at the same thing.
using End = std::pair<NvlinkPort::End, std::string>;

NodeId cpu_above(const TopologyBuilder& builder, NodeId id) {
  while (id != kNoNode && builder.node(id).kind != NodeKind::cpu) id = builder.node(id).parent;
  return id;
}

NodeId end_of(TopologyBuilder& builder, std::uint32_t host, NodeId gpu, const End& end) {
  const NodeId known = builder.find_device(host, end.second);
  if (end.first == NvlinkPort::End::processor) return cpu_above(builder, gpu);
  if (known != kNoNode || end.first != NvlinkPort::End::nvswitch) return known;
  // One nameless switch stands for all that are hidden.
  for (const NodeId id : builder.of(host, NodeKind::nvswitch)) {
    if (builder.node(id).pci.bus == end.second) return id;
  }
  Node node;
  node.kind = NodeKind::nvswitch;
  node.host = host;
  node.pci.bus = end.second;
  node.pci.vendor = "0x10de";
  return builder.add(std::move(node));
}

// The GPU at a place, as the bus shows it, or a new one whose way to the rest is not known.
NodeId place_gpu(TopologyBuilder& builder, std::uint32_t host, const NvidiaGpu& found) {
  NodeId id = builder.find_device(host, found.bus);
  if (id == kNoNode || builder.node(id).kind != NodeKind::gpu) {
    Node node;
    node.kind = NodeKind::gpu;
    node.host = host;
    node.pci.bus = found.bus;
    node.pci.vendor = "0x10de";
    node.facts = GpuFacts{};
    id = builder.add(std::move(node));
  }
  builder.node(id).index = found.index;
  auto& gpu = std::get<GpuFacts>(builder.node(id).facts);
  gpu.model = found.model;
  gpu.compute = found.compute;
  return id;
}

}  // namespace

void add_nvidia(TopologyBuilder& builder, std::uint32_t host, const std::vector<NvidiaGpu>& gpus) {
  std::vector<NodeId> nodes;
  for (const NvidiaGpu& gpu : gpus) nodes.push_back(place_gpu(builder, host, gpu));
  std::set<std::pair<NodeId, NodeId>> joined;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::map<End, int> ports;
    for (const NvlinkPort& port : gpus[i].ports) ++ports[{port.end, port.bus}];
    for (const auto& [end, count] : ports) {
      const NodeId other = end_of(builder, host, nodes[i], end);
      if (other == kNoNode || other == nodes[i]) continue;
      const auto ends = std::minmax(other, nodes[i]);
      // The other GPU names the link too.
      if (!joined.emplace(ends.first, ends.second).second) continue;
      const Figure one = nvlink_bandwidth(gpus[i].compute);
      builder.connect(nodes[i], other,
                      {kNoNode, LinkKind::nvlink, count, one ? Figure(*one * count) : one,
                       nominal_latency(LinkKind::nvlink)});
    }
  }
}

}  // namespace gyre::topo
