#include "topology/hwloc_import.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/parse_value.hpp"
#include "topology/link_facts.hpp"
#include "topology/pci_address.hpp"

namespace gyre::topo {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Hwloc = std::unique_ptr<hwloc_topology, Destroy>;

using Place = decltype(hwloc_obj_attr_u::pcidev);

constexpr unsigned kNvidia = 0x10de, kAmd = 0x1002;
constexpr unsigned kDisplay = 0x03, kAccelerator = 0x12, kNetwork = 0x02, kOtherBridge = 0x0680;

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* text = hwloc_obj_get_info_by_name(object, name);
  return text != nullptr ? text : "";
}

int integer_of(const std::string& text) {
  const auto value = parse_integer(text);
  return value && *value >= 0 && *value <= INT_MAX ? static_cast<int>(*value) : -1;
}

// The number at the end of "cuda3".
int trailing_number(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  return integer_of(std::string(name.substr(std::min(digits, name.size()))));
}

// As the vendor libraries write processor sets: words of 8 hexadecimal digits, the highest first.
std::string affinity_text(hwloc_const_bitmap_t set) {
  const int last = hwloc_bitmap_last(set);
  std::string text;
  for (int word = last / 32; last >= 0 && word >= 0; --word) {
    std::uint32_t bits = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      if (hwloc_bitmap_isset(set, static_cast<unsigned>(word) * 32 + bit)) bits |= 1U << bit;
    }
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", bits);
  }
  return text;
}

class Importer {
 public:
  Importer(TopologyBuilder& builder, std::uint32_t host, hwloc_topology_t topology)
      : builder_(builder), host_(host), topology_(topology) {}

  void run() {
    for (hwloc_obj_t numa = nullptr;
         (numa = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, numa)) != nullptr;) {
      // Nodes without processors are memory of devices.
      if (!hwloc_bitmap_iszero(numa->cpuset)) add_cpu(numa);
    }
    for (hwloc_obj_t device = nullptr;
         (device = hwloc_get_next_pcidev(topology_, device)) != nullptr;) {
      add_device(device);
    }
    add_links("NVLinkBandwidth", LinkKind::nvlink);
    add_links("XGMIBandwidth", LinkKind::xgmi);
  }

 private:
  void add_cpu(hwloc_obj_t numa) {
    CpuFacts cpu;
    cpu.numa = static_cast<int>(numa->os_index);
    cpu.affinity = affinity_text(numa->cpuset);
    cpu.cores = std::max(
        0, hwloc_get_nbobjs_inside_cpuset_by_type(topology_, numa->cpuset, HWLOC_OBJ_CORE));
    cpu.cache_bytes = cache_of(numa);
    const std::string arch = info_of(hwloc_get_root_obj(topology_), "Architecture");
    cpu.arch = arch == "aarch64" ? "arm64" : arch.starts_with("ppc64") ? "ppc64" : arch;
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, numa);
    if (package == nullptr) {
      package = hwloc_get_next_obj_covering_cpuset_by_type(topology_, numa->cpuset,
                                                           HWLOC_OBJ_PACKAGE, nullptr);
    }
    if (package != nullptr) {
      cpu.package = static_cast<int>(package->os_index);
      cpu.vendor = info_of(package, "CPUVendor");
      cpu.family = integer_of(info_of(package, "CPUFamilyNumber"));
      cpu.model = integer_of(info_of(package, "CPUModelNumber"));
    }
    Node node;
    node.kind = NodeKind::cpu;
    node.host = host_;
    node.index = cpu.numa;
    node.facts = std::move(cpu);
    const NodeId id = builder_.add(std::move(node));
    cpus_[numa->os_index] = id;
    if (package != nullptr) by_object_.try_emplace(package, id);
  }

  std::int64_t cache_of(hwloc_obj_t numa) const {
    for (const hwloc_obj_type_t level : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
      std::int64_t bytes = 0;
      for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_inside_cpuset_by_type(
                                             topology_, numa->cpuset, level, cache)) != nullptr;) {
        bytes += static_cast<std::int64_t>(cache->attr->cache.size);
      }
      if (bytes > 0) return bytes;
    }
    return 0;
  }

  // The NUMA node that a device hangs off; none if it may be any of several sockets'.
  NodeId cpu_of(hwloc_obj_t device) const {
    const hwloc_obj_t above = hwloc_get_non_io_ancestor_obj(topology_, device);
    NodeId first = kNoNode;
    for (const auto& [number, id] : cpus_) {
      if (above->nodeset == nullptr || !hwloc_bitmap_isset(above->nodeset, number)) continue;
      if (first == kNoNode) {
        first = id;
      } else if (builder_.node(id).cpu()->package != builder_.node(first).cpu()->package) {
        return kNoNode;
      }
    }
    return first;
  }

  static bool is_bridge(hwloc_obj_t object) {
    return object != nullptr && object->type == HWLOC_OBJ_BRIDGE;
  }
  static bool is_host_bridge(hwloc_obj_t object) {
    return is_bridge(object) && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
  }

  // The switch above an object. Of a switch, hwloc shows the port towards the processor and those
  // away from it as bridges; ports of the processor and those away are not places of their own, so
  // every second one counts.
  NodeId above(hwloc_obj_t object) {
    hwloc_obj_t bridge = object->parent;
    while (is_bridge(bridge) && !is_host_bridge(bridge) && bridge->attr->bridge.depth % 2 == 1) {
      bridge = bridge->parent;
    }
    if (!is_bridge(bridge) || is_host_bridge(bridge)) return cpu_of(object);
    const auto found = by_object_.find(bridge);
    return found != by_object_.end() ? found->second : add_bridge(bridge);
  }

  NodeId add_bridge(hwloc_obj_t bridge) {
    Node node = fresh(bridge, NodeKind::bridge, bridge->attr->bridge.upstream.pci);
    const NodeId id = builder_.add(std::move(node));
    by_object_[bridge] = id;
    return id;
  }

  int root_of(hwloc_obj_t object) {
    while (object != nullptr && !is_host_bridge(object)) object = object->parent;
    if (object == nullptr) return -1;
    return roots_.try_emplace(object, static_cast<int>(roots_.size())).first->second;
  }

  Node fresh(hwloc_obj_t object, NodeKind kind, const Place& pci) {
    Node node;
    node.kind = kind;
    node.host = host_;
    node.parent = above(object);
    node.root = root_of(object);
    node.pci.bus = pci_address(pci.domain, pci.bus, pci.dev, pci.func);
    node.pci.device_class = fmt::format("0x{:04x}00", pci.class_id);
    node.pci.vendor = fmt::format("0x{:04x}", pci.vendor_id);
    node.pci.device = fmt::format("0x{:04x}", pci.device_id);
    node.pci.subsystem_vendor = fmt::format("0x{:04x}", pci.subvendor_id);
    node.pci.subsystem_device = fmt::format("0x{:04x}", pci.subdevice_id);
    if (pci.linkspeed > 0) node.pci.bandwidth = static_cast<double>(pci.linkspeed);
    return node;
  }

  void add_device(hwloc_obj_t device) {
    const Place& pci = device->attr->pcidev;
    const unsigned kind = pci.class_id >> 8;
    const std::string_view subtype = device->subtype != nullptr ? device->subtype : "";
    const bool maker = pci.vendor_id == kNvidia || pci.vendor_id == kAmd;
    if ((kind == kDisplay || kind == kAccelerator) && maker) {
      add_gpu(device);
    } else if (kind == kNetwork) {
      add_nic(device);
    } else if (subtype == "NVSwitch" ||
               (pci.vendor_id == kNvidia && pci.class_id == kOtherBridge)) {
      by_object_[device] = builder_.add(fresh(device, NodeKind::nvswitch, pci));
    }
  }

  void add_gpu(hwloc_obj_t device) {
    Node node = fresh(device, NodeKind::gpu, device->attr->pcidev);
    GpuFacts gpu;
    for (hwloc_obj_t child = device->io_first_child; child != nullptr;
         child = child->next_sibling) {
      const std::string_view name = child->name != nullptr ? child->name : "";
      const bool numbered =
          name.starts_with("cuda") || name.starts_with("nvml") || name.starts_with("rsmi");
      if (!numbered) continue;
      if (node.index < 0) node.index = trailing_number(name);
      if (gpu.model.empty()) gpu.model = info_of(child, "GPUModel");
    }
    node.facts = std::move(gpu);
    by_object_[device] = builder_.add(std::move(node));
  }

  void add_nic(hwloc_obj_t device) {
    Node node = fresh(device, NodeKind::nic, device->attr->pcidev);
    NicFacts nic;
    for (hwloc_obj_t child = device->io_first_child; child != nullptr;
         child = child->next_sibling) {
      const std::string name = child->name != nullptr ? child->name : "";
      if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
        node.name = name;
        nic.verbs = true;
        nic.port = 1;
      } else if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK) {
        nic.interface = name;
      }
    }
    if (node.name.empty()) node.name = std::exchange(nic.interface, "");
    node.facts = std::move(nic);
    by_object_[device] = builder_.add(std::move(node));
  }

  // A GPU's objects stand for it; a package for its first NUMA node.
  NodeId node_of(hwloc_obj_t object) const {
    while (object != nullptr && object->type == HWLOC_OBJ_OS_DEVICE) object = object->parent;
    const auto found = by_object_.find(object);
    return found != by_object_.end() ? found->second : kNoNode;
  }

  Figure one_link(NodeId a, NodeId b, LinkKind kind) const {
    for (const NodeId end : {a, b}) {
      const GpuFacts* gpu = builder_.node(end).gpu();
      if (gpu != nullptr && kind == LinkKind::nvlink) return nvlink_bandwidth(gpu->model);
    }
    // Between two switches: the links are of the same generation as the GPUs'.
    for (const NodeId gpu : builder_.of(host_, NodeKind::gpu)) {
      if (kind == LinkKind::nvlink) return nvlink_bandwidth(builder_.node(gpu).gpu()->model);
    }
    return {};
  }

  void add_links(const char* name, LinkKind kind) {
    unsigned count = 1;
    hwloc_distances_s* distances = nullptr;
    if (hwloc_distances_get_by_name(topology_, name, &count, &distances, 0) != 0 || count == 0) {
      return;
    }
    for (unsigned i = 0; i < distances->nbobjs; ++i) {
      for (unsigned j = i + 1; j < distances->nbobjs; ++j) {
        const auto value = std::max(distances->values[i * distances->nbobjs + j],
                                    distances->values[j * distances->nbobjs + i]);
        const NodeId a = node_of(distances->objs[i]), b = node_of(distances->objs[j]);
        if (value == 0 || a == kNoNode || b == kNoNode || a == b) continue;
        const double bandwidth = static_cast<double>(value) / 1000;
        const Figure one = one_link(a, b, kind);
        const int links = one ? std::max(1, static_cast<int>(std::lround(bandwidth / *one))) : 1;
        builder_.connect(a, b, {kNoNode, kind, links, bandwidth, nominal_latency(kind)});
      }
    }
    hwloc_distances_release(topology_, distances);
  }

  TopologyBuilder& builder_;
  std::uint32_t host_;
  hwloc_topology_t topology_;
  std::map<unsigned, NodeId> cpus_;  // by the system's number
  std::map<hwloc_obj_t, NodeId> by_object_;
  std::map<hwloc_obj_t, int> roots_;
};

Result<Hwloc> fresh_hwloc() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return system_error("hwloc_topology_init", errno);
  Hwloc owned(topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  return owned;
}

Result<Hwloc> load_xml(std::string_view text, std::string_view file) {
  const auto wrong = [&](std::string_view why) {
    return Error{Status::invalid_argument,
                 fmt::format("{}:1: {}; write one with hwloc 2's lstopo {}", file, why, file)};
  };
  if (text.find("<topology version=\"3") != std::string_view::npos) {
    return wrong("hwloc's format 3, which hwloc 2 cannot read");
  }
  GYRE_TRY_ASSIGN(Hwloc hwloc, fresh_hwloc());
  const std::string owned(text);  // with its final zero
  if (owned.size() >= INT_MAX ||
      hwloc_topology_set_xmlbuffer(hwloc.get(), owned.c_str(),
                                   static_cast<int>(owned.size() + 1)) != 0 ||
      hwloc_topology_load(hwloc.get()) != 0) {
    return wrong("hwloc does not accept it as a topology");
  }
  return hwloc;
}

}  // namespace

Result<void> add_hwloc(TopologyBuilder& builder, std::uint32_t host) {
  GYRE_TRY_ASSIGN(const Hwloc hwloc, fresh_hwloc());
  // The kernel's files say what is on the bus, and drivers are asked elsewhere: plugins would start
  // drivers and keep memory.
  for (const char* plugin : {"pci", "opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"}) {
    hwloc_topology_set_components(hwloc.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  if (hwloc_topology_load(hwloc.get()) != 0) return system_error("hwloc_topology_load", errno);
  Importer(builder, host, hwloc.get()).run();
  return {};
}

Result<void> add_hwloc_xml(TopologyBuilder& builder, std::uint32_t host, std::string_view text,
                           std::string_view file) {
  GYRE_TRY_ASSIGN(const Hwloc hwloc, load_xml(text, file));
  Importer(builder, host, hwloc.get()).run();
  return {};
}

Result<Topology> read_hwloc_xml(std::string_view text, std::string_view file) {
  GYRE_TRY_ASSIGN(const Hwloc hwloc, load_xml(text, file));
  TopologyBuilder builder;
  const std::string name = info_of(hwloc_get_root_obj(hwloc.get()), "HostName");
  const std::uint32_t host = builder.add_host(name.empty() ? "host0" : name);
  Importer(builder, host, hwloc.get()).run();
  return std::move(builder).build();
}

}  // namespace gyre::topo
