#include "topology/discover_kfd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/parse_value.hpp"
#include "topology/link_facts.hpp"
#include "topology/pci_address.hpp"
#include "topology/sysfs.hpp"

namespace gyre::topo {
namespace {

using Properties = std::map<std::string, std::int64_t, std::less<>>;

constexpr std::int64_t kXgmi = 11;    // a link's type
constexpr std::int64_t kOneHop = 15;  // a link's weight: this much for each hop

// Lines of "key value".
Properties properties_of(const std::filesystem::path& file) {
  Properties properties;
  std::istringstream lines(read_text(file).value_or(""));
  for (std::string key, value; lines >> key >> value;) {
    if (const auto number = parse_integer(value)) properties[key] = *number;
  }
  return properties;
}

std::int64_t value_of(const Properties& properties, std::string_view key) {
  const auto found = properties.find(key);
  return found != properties.end() ? found->second : 0;
}

// "gfx90a": the version as the compilers write it.
std::string gcn_of(std::int64_t version) {
  if (version <= 0) return {};
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

class Reader {
 public:
  Reader(TopologyBuilder& builder, std::uint32_t host, std::filesystem::path nodes)
      : builder_(builder), host_(host), nodes_(std::move(nodes)) {}

  void run() {
    // On a host of both vendors, AMD's are numbered after NVIDIA's.
    for (const NodeId id : builder_.of(host_, NodeKind::gpu)) {
      const Node& node = builder_.node(id);
      if (node.pci.vendor == "0x10de") gpus_ = std::max(gpus_, node.index + 1);
    }
    std::set<std::int64_t> numbers;
    for (const std::string& name : names_in(nodes_)) {
      if (const auto number = parse_integer(name)) numbers.insert(*number);
    }
    for (const std::int64_t number : numbers) {
      const Properties properties = properties_of(folder(number) / "properties");
      if (value_of(properties, "simd_count") > 0) {
        by_number_[number] = add_gpu(properties);
      } else if (const NodeId cpu = builder_.find_cpu(host_, static_cast<int>(number));
                 cpu != kNoNode) {
        by_number_[number] = cpu;
      }
    }
    for (const std::int64_t number : numbers) {
      for (const char* kind : {"io_links", "p2p_links"}) {
        for (const std::string& link : names_in(folder(number) / kind)) {
          add_link(properties_of(folder(number) / kind / link / "properties"));
        }
      }
    }
  }

 private:
  std::filesystem::path folder(std::int64_t number) const {
    return nodes_ / std::to_string(number);
  }

  NodeId add_gpu(const Properties& properties) {
    const auto location = static_cast<std::uint32_t>(value_of(properties, "location_id"));
    const auto domain = static_cast<std::uint32_t>(value_of(properties, "domain"));
    const std::string bus =
        pci_address(domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
    NodeId id = builder_.find_device(host_, bus);
    if (id == kNoNode || builder_.node(id).kind != NodeKind::gpu) {
      // Containers may show the compute driver and hide the bus: how the GPU hangs together with
      // the rest is then unknown.
      Node node;
      node.kind = NodeKind::gpu;
      node.host = host_;
      node.pci.bus = bus;
      node.pci.vendor = "0x1002";
      node.facts = GpuFacts{};
      id = builder_.add(std::move(node));
    }
    Node& node = builder_.node(id);
    auto& gpu = std::get<GpuFacts>(node.facts);
    node.index = gpus_++;
    gpu.gcn = gcn_of(value_of(properties, "gfx_target_version"));
    const std::int64_t per_unit = std::max<std::int64_t>(1, value_of(properties, "simd_per_cu"));
    gpu.compute = static_cast<int>(value_of(properties, "simd_count") / per_unit);
    return id;
  }

  void add_link(const Properties& properties) {
    const auto from = by_number_.find(value_of(properties, "node_from"));
    const auto to = by_number_.find(value_of(properties, "node_to"));
    if (from == by_number_.end() || to == by_number_.end() || from->second == to->second) return;
    // Links of several hops are ways over other GPUs, not wires.
    if (value_of(properties, "type") != kXgmi || value_of(properties, "weight") > kOneHop) return;
    const NodeId a = std::min(from->second, to->second), b = std::max(from->second, to->second);
    if (!joined_.emplace(a, b).second) return;

    const GpuFacts* gpu = builder_.node(a).gpu();
    if (gpu == nullptr) gpu = builder_.node(b).gpu();
    if (gpu == nullptr) return;  // sockets are joined anyway
    const auto least = static_cast<double>(value_of(properties, "min_bandwidth")) / 1000;
    const auto most = static_cast<double>(value_of(properties, "max_bandwidth")) / 1000;
    const Figure one = least > 0 ? Figure(least) : xgmi_bandwidth(gpu->gcn);
    Link link{kNoNode, LinkKind::xgmi, 1, one, nominal_latency(LinkKind::xgmi)};
    if (most > 0) {
      link.bandwidth = most;
      if (one) link.count = std::max(1, static_cast<int>(std::lround(most / *one)));
    }
    builder_.connect(a, b, link);
  }

  TopologyBuilder& builder_;
  std::uint32_t host_;
  std::filesystem::path nodes_;
  std::map<std::int64_t, NodeId> by_number_;
  std::set<std::pair<NodeId, NodeId>> joined_;
  int gpus_ = 0;
};

}  // namespace

void add_kfd(TopologyBuilder& builder, std::uint32_t host, const std::filesystem::path& sys) {
  Reader(builder, host, sys / "class/kfd/kfd/topology/nodes").run();
}

}  // namespace gyre::topo
