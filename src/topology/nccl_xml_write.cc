#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "topology/link_facts.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/xml.hpp"

namespace gyre::topo {
namespace {

constexpr const char* kNowhere = "0000:00:00.0";

struct LinkRate {
  double speed = 0;
  int width = 0;
};

// The format knows rates and widths only: the widest that make up a bandwidth known otherwise.
LinkRate rate_of(const PciFacts& pci) {
  if (pci.speed > 0 && pci.width > 0) return {pci.speed, pci.width};
  if (!pci.bandwidth) return {};
  for (const int width : {16, 8, 4, 2, 1}) {
    for (const double speed : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) {
      PciFacts guess;
      guess.speed = speed;
      guess.width = width;
      const Figure bandwidth = pcie_bandwidth(guess);
      if (bandwidth && std::abs(*bandwidth - *pci.bandwidth) < 0.01 * *bandwidth) {
        return {speed, width};
      }
    }
  }
  return {};
}

class Writer {
 public:
  explicit Writer(const Topology& topology)
      : topology_(topology), children_(topology.nodes().size()) {
    for (NodeId id = 0; id < topology.nodes().size(); ++id) {
      const Node& node = topology.node(id);
      if (node.parent != kNoNode) children_[node.parent].push_back(id);
    }
  }

  std::string text() {
    line(0, "<system version=\"1\">");
    for (std::uint32_t host = 0; host < topology_.hosts().size(); ++host) write_host(host);
    line(0, "</system>");
    return std::move(out_);
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(static_cast<std::size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }
  static std::string attribute(std::string_view key, std::string_view value) {
    return value.empty() ? std::string() : fmt::format(" {}=\"{}\"", key, xml_escaped(value));
  }

  void write_host(std::uint32_t host) {
    const auto cpus = topology_.of(host, NodeKind::cpu);
    const std::string hash =
        topology_.hosts().size() > 1 ? fmt::format(" host_hash=\"0x{:x}\"", host + 1) : "";
    for (const NodeId id : cpus) {
      const CpuFacts& cpu = *topology_.node(id).cpu();
      std::string head = fmt::format("<cpu{} numaid=\"{}\"", hash, cpu.numa);
      head += attribute("affinity", cpu.affinity) + attribute("arch", cpu.arch) +
              attribute("vendor", cpu.vendor);
      if (cpu.family >= 0) head += fmt::format(" familyid=\"{}\"", cpu.family);
      if (cpu.model >= 0) head += fmt::format(" modelid=\"{}\"", cpu.model);
      write_cpu(head, children_[id]);
    }
    std::vector<NodeId> lost;
    for (const NodeKind kind : {NodeKind::bridge, NodeKind::gpu, NodeKind::nic}) {
      for (const NodeId id : topology_.of(host, kind)) {
        if (topology_.node(id).parent == kNoNode) lost.push_back(id);
      }
    }
    if (!lost.empty() || cpus.empty()) {
      write_cpu(fmt::format("<cpu{} numaid=\"-1\"", hash), lost);
    }
  }

  void write_cpu(const std::string& head, const std::vector<NodeId>& inside) {
    if (inside.empty()) return line(1, head + "/>");
    line(1, head + ">");
    write_nodes(inside, 2);
    line(1, "</cpu>");
  }

  // Ports of one network card stand in one <pci>.
  void write_nodes(const std::vector<NodeId>& ids, int depth) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Node& node = topology_.node(ids[i]);
      if (node.kind == NodeKind::nic) {
        write_nic(ids, i, depth);
      } else {
        write_pci(ids[i], depth);
      }
    }
  }

  static std::string place(const Node& node, std::string_view device_class) {
    const PciFacts& pci = node.pci;
    std::string text = fmt::format("<pci busid=\"{}\"", pci.bus.empty() ? kNowhere : pci.bus);
    text += attribute("class", pci.device_class.empty() ? device_class : pci.device_class);
    text += attribute("vendor", pci.vendor) + attribute("device", pci.device) +
            attribute("subsystem_vendor", pci.subsystem_vendor) +
            attribute("subsystem_device", pci.subsystem_device);
    if (const LinkRate rate = rate_of(pci); rate.width > 0) {
      text +=
          fmt::format(" link_speed=\"{:.1f} GT/s PCIe\" link_width=\"{}\"", rate.speed, rate.width);
    }
    return text;
  }

  void write_pci(NodeId id, int depth) {
    const Node& node = topology_.node(id);
    const bool is_gpu = node.kind == NodeKind::gpu;
    const char* fallback = is_gpu                            ? "0x030200"
                           : node.kind == NodeKind::nvswitch ? "0x068000"
                                                             : "0x060400";
    const std::string head = place(node, fallback);
    if (!is_gpu && children_[id].empty()) return line(depth, head + "/>");
    line(depth, head + ">");
    if (is_gpu) write_gpu(id, depth + 1);
    write_nodes(children_[id], depth + 1);
    line(depth, "</pci>");
  }

  void write_gpu(NodeId id, int depth) {
    const Node& node = topology_.node(id);
    const GpuFacts& gpu = *node.gpu();
    std::string head = fmt::format("<gpu dev=\"{}\" sm=\"{}\"", node.index, gpu.compute);
    head += attribute("gcn", gpu.gcn) + attribute("arch", gpu.gcn_arch);
    if (gpu.rank >= 0) head += fmt::format(" rank=\"{}\"", gpu.rank);
    head += fmt::format(" gdr=\"{}\"", gpu.direct_rdma ? 1 : 0);
    std::vector<std::string> links;
    for (const Link& link : topology_.links(id)) {
      if (std::string text = link_text(link); !text.empty()) links.push_back(std::move(text));
    }
    if (links.empty()) return line(depth, head + "/>");
    line(depth, head + ">");
    for (const std::string& link : links) line(depth + 1, link);
    line(depth, "</gpu>");
  }

  std::string link_text(const Link& link) const {
    const Node& other = topology_.node(link.to);
    if (link.kind == LinkKind::c2c) {
      const double one = link.bandwidth.value_or(0) / link.count;
      return fmt::format("<c2c bw=\"{:.0f}\" count=\"{}\"/>", one * 1000, link.count);
    }
    if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) return {};
    const char* target_class = other.kind == NodeKind::nvswitch ? "0x068000"
                               : other.kind == NodeKind::cpu    ? "0x068001"
                               : other.pci.device_class.empty() ? "0x030200"
                                                                : other.pci.device_class.c_str();
    return fmt::format("<{} target=\"{}\" count=\"{}\" tclass=\"{}\"/>",
                       link.kind == LinkKind::xgmi ? "xgmi" : "nvlink",
                       other.pci.bus.empty() ? "ffffffff:ffff:ff" : other.pci.bus.c_str(),
                       link.count, xml_escaped(target_class));
  }

  void write_nic(const std::vector<NodeId>& ids, std::size_t at, int depth) {
    const Node& node = topology_.node(ids[at]);
    const auto same_card = [&](NodeId id) {
      const Node& other = topology_.node(id);
      return other.kind == NodeKind::nic && !node.pci.bus.empty() && other.pci.bus == node.pci.bus;
    };
    for (std::size_t before = 0; before < at; ++before) {
      if (same_card(ids[before])) return;  // written with its first port
    }
    const bool on_pci = !node.pci.bus.empty();
    const int inner = on_pci ? depth + 1 : depth;
    if (on_pci) line(depth, place(node, "0x020000") + ">");
    line(inner, "<nic>");
    for (std::size_t i = at; i < ids.size(); ++i) {
      if (i == at || same_card(ids[i])) line(inner + 1, net_text(topology_.node(ids[i])));
    }
    line(inner, "</nic>");
    if (on_pci) line(depth, "</pci>");
  }

  static std::string net_text(const Node& node) {
    const NicFacts& nic = *node.nic();
    std::string text =
        fmt::format("<net name=\"{}\" dev=\"{}\"", xml_escaped(node.name), node.index);
    if (nic.bandwidth) text += fmt::format(" speed=\"{:.0f}\"", *nic.bandwidth * 8000);
    text += fmt::format(" port=\"{}\"", nic.verbs && nic.port == 0 ? 1 : nic.port);
    if (nic.latency) text += fmt::format(" latency=\"{:.6f}\"", *nic.latency);
    text += attribute("guid", nic.guid);
    if (nic.connections > 0) text += fmt::format(" maxconn=\"{}\"", nic.connections);
    text += fmt::format(" gdr=\"{}\"", nic.direct_rdma ? 1 : 0);
    if (nic.collective) text += " coll=\"1\"";
    if (nic.rail >= 0) text += fmt::format(" rail=\"{}\"", nic.rail);
    return text + "/>";
  }

  const Topology& topology_;
  std::vector<std::vector<NodeId>> children_;
  std::string out_;
};

}  // namespace

std::string write_nccl_xml(const Topology& topology) { return Writer(topology).text(); }

}  // namespace gyre::topo
