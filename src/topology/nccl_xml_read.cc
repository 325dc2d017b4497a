#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/parse_value.hpp"
#include "topology/builder.hpp"
#include "topology/link_facts.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/pci_address.hpp"
#include "topology/xml.hpp"

namespace gyre::topo {
namespace {

// A machine's file has some kilobytes; a rack's, some hundred.
constexpr XmlLimits kLimits{.bytes = 16 << 20, .elements = 200'000, .depth = 48};
// Each is joined to each.
constexpr int kMostCpus = 256;
constexpr std::string_view kNvswitch = "0x068000", kIbmProcessor = "0x068001";

std::string text_of(const XmlElement& element, std::string_view key) {
  const std::string* text = element.attribute(key);
  return text != nullptr ? *text : std::string();
}

bool is_gpu_class(std::string_view text) {
  return text.starts_with("0x03") || text.starts_with("0x12");
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Topology> read(const XmlElement& root) {
    if (root.name != "system") {
      return wrong(root,
                   fmt::format("the first element is <{}>; a topology file begins with <system>",
                               root.name));
    }
    for (const XmlElement& child : root.children) {
      if (child.name == "cpu") {
        GYRE_TRY(read_cpu(child));
      } else {
        pass_over(child);
      }
    }
    if (hosts_.empty()) {
      return wrong(root, "<system> has no <cpu>; devices stand in the <cpu> of their NUMA node");
    }
    resolve_links();
    return std::move(builder_).build();
  }

 private:
  // A link of a GPU whose other end may come later in the file.
  struct Pending {
    NodeId from;
    LinkKind kind;
    std::string target, target_class;
    int count, line;
    Figure bandwidth;  // of one, if the file says so
  };
  struct Place {
    std::uint32_t host;
    NodeId parent;
  };

  Error wrong(const XmlElement& element, std::string_view what) const {
    return {Status::invalid_argument, fmt::format("{}:{}: {}", file_, element.line, what)};
  }
  void pass_over(const XmlElement& element) {
    builder_.remark(fmt::format("{}:{}: <{}> is not known and was passed over", file_, element.line,
                                element.name));
  }

  Result<int> integer(const XmlElement& element, std::string_view key, int fallback, int min,
                      int max) const {
    const std::string* text = element.attribute(key);
    if (text == nullptr || text->empty()) return fallback;
    const auto value = parse_integer(*text);
    if (!value || *value < min || *value > max) {
      return wrong(element, fmt::format("<{}> has {}=\"{}\"; write a whole number from {} to {}",
                                        element.name, key, *text, min, max));
    }
    return static_cast<int>(*value);
  }

  Result<double> number(const XmlElement& element, std::string_view key) const {
    const std::string* text = element.attribute(key);
    if (text == nullptr || text->empty()) return 0.0;
    double value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    constexpr double kMost = 1e12;
    if (error != std::errc() || end != text->data() + text->size() || !(value >= -1) ||
        value > kMost) {
      return wrong(element, fmt::format("<{}> has {}=\"{}\"; write a number of at least 0",
                                        element.name, key, *text));
    }
    return value;
  }

  std::uint32_t host_of(const std::string& hash) {
    const auto [at, fresh] = hosts_.try_emplace(hash, 0);
    if (fresh) at->second = builder_.add_host(fmt::format("host{}", hosts_.size() - 1));
    return at->second;
  }

  Result<void> read_cpu(const XmlElement& element) {
    Node node;
    node.kind = NodeKind::cpu;
    node.host = host_of(text_of(element, "host_hash"));
    CpuFacts cpu;
    GYRE_TRY_ASSIGN(cpu.numa, integer(element, "numaid", -1, -1, 65535));
    GYRE_TRY_ASSIGN(cpu.family, integer(element, "familyid", -1, -1, 65535));
    GYRE_TRY_ASSIGN(cpu.model, integer(element, "modelid", -1, -1, 65535));
    cpu.affinity = text_of(element, "affinity");
    cpu.arch = text_of(element, "arch");
    cpu.vendor = text_of(element, "vendor");
    node.index = cpu.numa;
    node.name = fmt::format("NUMA{}", cpu.numa < 0 ? "?" : std::to_string(cpu.numa));
    if (!cpus_.emplace(node.host, cpu.numa).second) {
      return wrong(element, fmt::format("a second <cpu> with numaid=\"{}\" on one host", cpu.numa));
    }
    if (++cpu_count_[node.host] > kMostCpus) {
      return wrong(element, fmt::format("more than {} <cpu> on one host", kMostCpus));
    }
    const std::uint32_t host = node.host;
    // What hangs off no known NUMA node has no known way to anything else.
    const bool known = cpu.numa >= 0;
    node.facts = std::move(cpu);
    const NodeId id = known ? builder_.add(std::move(node)) : kNoNode;
    return read_devices(element, {host, id});
  }

  Result<void> read_devices(const XmlElement& element, Place place) {
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") {
        GYRE_TRY(read_pci(child, place));
      } else if (child.name == "nic") {
        GYRE_TRY(read_nets(child, place, PciFacts{}));
      } else if (child.name != "gpu" && child.name != "pcilink") {
        pass_over(child);
      }
    }
    return {};
  }

  Result<PciFacts> read_place(const XmlElement& element) const {
    PciFacts pci;
    pci.bus = pci_address(text_of(element, "busid"));
    if (pci.bus.empty()) {
      return wrong(element, fmt::format("<pci> has busid=\"{}\"; write it as 0000:c1:00.0",
                                        text_of(element, "busid")));
    }
    pci.device_class = text_of(element, "class");
    pci.vendor = text_of(element, "vendor");
    pci.device = text_of(element, "device");
    pci.subsystem_vendor = text_of(element, "subsystem_vendor");
    pci.subsystem_device = text_of(element, "subsystem_device");
    pci.speed = pcie_speed(text_of(element, "link_speed"));
    GYRE_TRY_ASSIGN(pci.width, integer(element, "link_width", 0, 0, 255));
    return pci;
  }

  static const XmlElement* child_named(const XmlElement& element, std::string_view name) {
    for (const XmlElement& child : element.children) {
      if (child.name == name) return &child;
    }
    return nullptr;
  }

  Result<void> read_pci(const XmlElement& element, Place place) {
    GYRE_TRY_ASSIGN(PciFacts pci, read_place(element));
    const XmlElement* gpu = child_named(element, "gpu");
    const XmlElement* nic = child_named(element, "nic");
    // Files written by hand name the classes alone.
    if (gpu != nullptr || is_gpu_class(pci.device_class)) {
      return read_gpu(gpu != nullptr ? *gpu : element, std::move(pci), place);
    }
    if (nic != nullptr) {
      for (const XmlElement& child : element.children) {
        if (child.name == "nic") GYRE_TRY(read_nets(child, place, pci));
      }
      return {};
    }
    if (pci.device_class.starts_with("0x02")) {
      add_nic(Node{}, NicFacts{}, std::move(pci), place);
      return {};
    }
    Node node;
    node.kind = pci.device_class == kNvswitch ? NodeKind::nvswitch : NodeKind::bridge;
    node.host = place.host;
    node.parent = place.parent;
    node.name = pci.bus;
    if (node.kind == NodeKind::nvswitch) devices_.try_emplace({place.host, pci.bus}, next_id());
    node.pci = std::move(pci);
    const NodeId id = builder_.add(std::move(node));
    return read_devices(element, {place.host, id});
  }

  NodeId next_id() const { return static_cast<NodeId>(builder_.size()); }

  // `element` is the <gpu>, or the <pci> of a file that has none.
  Result<void> read_gpu(const XmlElement& element, PciFacts pci, Place place) {
    Node node;
    node.kind = NodeKind::gpu;
    node.host = place.host;
    node.parent = place.parent;
    GpuFacts gpu;
    if (element.name == "gpu") {
      GYRE_TRY_ASSIGN(node.index, integer(element, "dev", -1, -1, 65535));
      GYRE_TRY_ASSIGN(gpu.compute, integer(element, "sm", 0, 0, 65535));
      GYRE_TRY_ASSIGN(gpu.rank, integer(element, "rank", -1, -1, std::numeric_limits<int>::max()));
      GYRE_TRY_ASSIGN(const int direct, integer(element, "gdr", 0, 0, 1));
      gpu.direct_rdma = direct == 1;
      gpu.gcn = text_of(element, "gcn");
      gpu.gcn_arch = text_of(element, "arch");
    }
    if (node.index >= 0 && !gpus_.emplace(node.host, node.index).second) {
      return wrong(
          element,
          fmt::format("a second GPU with dev=\"{}\" on one host; number them from 0", node.index));
    }
    if (!devices_.try_emplace({place.host, pci.bus}, next_id()).second) {
      return wrong(element,
                   fmt::format("a second device at {}; each has a place of its own", pci.bus));
    }
    for (const XmlElement& child : element.children) {
      if (element.name == "gpu") GYRE_TRY(read_link(child, next_id()));
    }
    node.pci = std::move(pci);
    node.facts = std::move(gpu);
    builder_.add(std::move(node));
    return {};
  }

  Result<void> read_link(const XmlElement& element, NodeId gpu) {
    Pending link{gpu, LinkKind::nvlink, {}, {}, 1, element.line, {}};
    if (element.name == "xgmi") {
      link.kind = LinkKind::xgmi;
    } else if (element.name == "c2c") {
      link.kind = LinkKind::c2c;
      GYRE_TRY_ASSIGN(const double megabytes, number(element, "bw"));
      if (megabytes > 0) link.bandwidth = megabytes / 1000;
    } else if (element.name != "nvlink") {
      pass_over(element);
      return {};
    }
    GYRE_TRY_ASSIGN(link.count, integer(element, "count", 1, 1, 1024));
    link.target = text_of(element, "target");
    link.target_class = text_of(element, "tclass");
    pending_.push_back(std::move(link));
    return {};
  }

  Result<void> read_nets(const XmlElement& element, Place place, const PciFacts& pci) {
    for (const XmlElement& child : element.children) {
      if (child.name != "net") {
        pass_over(child);
        continue;
      }
      Node node;
      node.name = text_of(child, "name");
      GYRE_TRY_ASSIGN(node.index, integer(child, "dev", -1, -1, 65535));
      NicFacts nic;
      GYRE_TRY_ASSIGN(const double megabits, number(child, "speed"));
      if (megabits > 0) nic.bandwidth = megabits / 8000;
      GYRE_TRY_ASSIGN(const double latency, number(child, "latency"));
      if (latency > 0) nic.latency = latency;
      GYRE_TRY_ASSIGN(nic.port, integer(child, "port", 0, -1, 65535));
      GYRE_TRY_ASSIGN(nic.connections,
                      integer(child, "maxconn", 0, 0, std::numeric_limits<int>::max()));
      GYRE_TRY_ASSIGN(const int direct, integer(child, "gdr", 0, 0, 1));
      GYRE_TRY_ASSIGN(const int reduces, integer(child, "coll", 0, 0, 65535));
      GYRE_TRY_ASSIGN(nic.rail, integer(child, "rail", -1, -1, 65535));
      nic.guid = text_of(child, "guid");
      // Ports of verbs devices count from 1; sockets have none.
      nic.verbs = nic.port > 0;
      nic.direct_rdma = direct == 1;
      nic.collective = reduces > 0;
      add_nic(std::move(node), std::move(nic), pci, place);
    }
    return {};
  }

  void add_nic(Node node, NicFacts nic, PciFacts pci, Place place) {
    node.kind = NodeKind::nic;
    node.host = place.host;
    node.parent = place.parent;
    if (node.name.empty()) node.name = pci.bus;
    node.pci = std::move(pci);
    node.facts = std::move(nic);
    builder_.add(std::move(node));
  }

  NodeId cpu_above(NodeId id) const {
    while (id != kNoNode && builder_.node(id).kind != NodeKind::cpu) id = builder_.node(id).parent;
    return id;
  }

  // The node at a link's other end, made if it is a switch seen for the first time.
  NodeId target_of(const Pending& link) {
    const Node& from = builder_.node(link.from);
    if (link.kind == LinkKind::c2c || link.target_class == kIbmProcessor) {
      return cpu_above(link.from);
    }
    const std::string bus = pci_address(link.target);
    // Virtual machines hide their switches' places: one nameless switch stands for them.
    const bool hidden = link.target_class == kNvswitch && bus.empty();
    const auto found = devices_.find({from.host, hidden ? std::string(kNvswitch) : bus});
    if (found != devices_.end()) return found->second;
    if (link.target_class != kNvswitch) return kNoNode;
    Node node;
    node.kind = NodeKind::nvswitch;
    node.host = from.host;
    node.pci.bus = bus;
    node.pci.device_class = kNvswitch;
    const std::pair key(from.host, hidden ? std::string(kNvswitch) : bus);
    const NodeId made = builder_.add(std::move(node));
    devices_.emplace(key, made);
    return made;
  }

  Figure bandwidth_of(const Pending& link, NodeId other) const {
    if (link.bandwidth) return *link.bandwidth * link.count;
    Figure least;
    for (const NodeId end : {link.from, other}) {
      const GpuFacts* gpu = builder_.node(end).gpu();
      if (gpu == nullptr) continue;
      const Figure one =
          link.kind == LinkKind::xgmi ? xgmi_bandwidth(gpu->gcn) : nvlink_bandwidth(gpu->compute);
      if (!one) return {};
      least = least ? std::min(*least, *one) : *one;
    }
    return least ? Figure(*least * link.count) : least;
  }

  // Both ends name a link; it is one.
  void resolve_links() {
    std::map<std::tuple<NodeId, NodeId, LinkKind>, Link> links;
    for (const Pending& pending : pending_) {
      const NodeId other = target_of(pending);
      if (other == kNoNode || other == pending.from) {
        builder_.remark(
            fmt::format("{}:{}: a link to \"{}\", which the file does not have, was left out",
                        file_, pending.line, pending.target));
        continue;
      }
      const Link link{kNoNode, pending.kind, pending.count, bandwidth_of(pending, other),
                      nominal_latency(pending.kind)};
      const auto key =
          std::tuple(std::min(other, pending.from), std::max(other, pending.from), pending.kind);
      const auto [at, fresh] = links.try_emplace(key, link);
      if (!fresh && at->second.count < link.count) at->second = link;
    }
    for (const auto& [ends, link] : links) {
      builder_.connect(std::get<0>(ends), std::get<1>(ends), link);
    }
  }

  std::string_view file_;
  TopologyBuilder builder_;
  std::map<std::string, std::uint32_t> hosts_;
  std::map<std::pair<std::uint32_t, std::string>, NodeId> devices_;
  std::set<std::pair<std::uint32_t, int>> gpus_, cpus_;
  std::map<std::uint32_t, int> cpu_count_;
  std::vector<Pending> pending_;
};

}  // namespace

bool is_nccl_xml(std::string_view text) {
  const std::size_t system = text.find("<system");
  return system < text.find("<topology");
}

Result<Topology> read_nccl_xml(std::string_view text, std::string_view file) {
  GYRE_TRY_ASSIGN(const XmlElement root, parse_xml(text, file, kLimits));
  return Reader(file).read(root);
}

}  // namespace gyre::topo
