#include "topology/discover_net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/parse_value.hpp"
#include "topology/sysfs.hpp"

namespace gyre::topo {
namespace {

namespace fs = std::filesystem;

// "200 Gb/sec (4X HDR)" in GB/s.
Figure port_rate(const std::string& text) {
  double gigabits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  if (error != std::errc() || !std::string_view(end).starts_with(" Gb/sec")) return {};
  return gigabits > 0 ? Figure(gigabits / 8) : Figure();
}

// The system gives -1, an error or 2^32 - 1 where it does not know.
Figure interface_rate(const fs::path& folder) {
  constexpr std::int64_t kMost = 10'000'000;
  const auto megabits = read_integer(folder / "speed");
  if (!megabits || *megabits <= 0 || *megabits > kMost) return {};
  return static_cast<double>(*megabits) / 8000;
}

std::string guid_of(const fs::path& folder) {
  std::string guid = read_text(folder / "node_guid").value_or("");
  guid.erase(std::remove(guid.begin(), guid.end(), ':'), guid.end());
  return guid.empty() ? guid : "0x" + guid;
}

class Reader {
 public:
  Reader(TopologyBuilder& builder, std::uint32_t host, fs::path sys)
      : builder_(builder), host_(host), sys_(std::move(sys)) {}

  void run() {
    const fs::path verbs = sys_ / "class/infiniband";
    for (const std::string& name : names_in(verbs)) add_verbs(name, verbs / name);
    const fs::path net = sys_ / "class/net";
    std::vector<std::string> without_device;
    for (const std::string& name : names_in(net)) {
      if (is_there(net / name / "device")) {
        add_physical(name, net / name);
      } else {
        without_device.push_back(name);
      }
    }
    if (!builder_.of(host_, NodeKind::nic).empty()) return;
    for (const std::string& name : without_device) add_virtual(name, net / name);
  }

 private:
  // The interface at a place on the bus, as hwloc or an earlier port has left it; else a new one,
  // which hangs off its NUMA node if the system names it.
  NodeId nic_at(const std::string& bus, const fs::path& device) {
    const NodeId found = builder_.find_device(host_, bus);
    if (found != kNoNode && builder_.node(found).kind == NodeKind::nic) return found;
    Node node;
    node.kind = NodeKind::nic;
    node.host = host_;
    node.pci.bus = bus;
    node.facts = NicFacts{};
    const auto numa = read_integer(device / "numa_node");
    if (numa && *numa >= 0 && *numa < 65536) {
      node.parent = builder_.find_cpu(host_, static_cast<int>(*numa));
    }
    return builder_.add(std::move(node));
  }

  NicFacts& facts(NodeId id) { return std::get<NicFacts>(builder_.node(id).facts); }

  // Whether an earlier port has described this node already.
  bool described(NodeId id) const {
    return std::find(ports_.begin(), ports_.end(), id) != ports_.end();
  }

  void add_verbs(const std::string& name, const fs::path& folder) {
    const std::string bus = pci_place_of(folder / "device");
    for (const std::string& number : names_in(folder / "ports")) {
      NodeId id = nic_at(bus, folder / "device");
      if (described(id)) {
        Node copy = builder_.node(id);
        id = builder_.add(std::move(copy));
      }
      ports_.push_back(id);
      const fs::path port = folder / "ports" / number;
      NicFacts nic = facts(id);
      nic.port = static_cast<int>(parse_integer(number).value_or(1));
      nic.verbs = true;
      nic.bandwidth = port_rate(read_text(port / "rate").value_or(""));
      nic.guid = guid_of(folder);
      const auto state = read_text(port / "state");
      nic.up = !state || state->find("ACTIVE") != std::string::npos;
      if (!nic.up) nic.bandwidth.reset();
      builder_.node(id).name = nic.port == 1 ? name : fmt::format("{}:{}", name, number);
      facts(id) = std::move(nic);
    }
  }

  void add_physical(const std::string& name, const fs::path& folder) {
    const std::string bus = pci_place_of(folder / "device");
    const NodeId id = nic_at(bus, folder / "device");
    NicFacts& nic = facts(id);
    if (nic.verbs) {
      nic.interface = name;
      return;
    }
    if (described(id)) return;  // a second function of a device without places
    ports_.push_back(id);
    nic.bandwidth = interface_rate(folder);
    nic.up = read_text(folder / "operstate").value_or("") != "down";
    builder_.node(id).name = name;
  }

  void add_virtual(const std::string& name, const fs::path& folder) {
    const bool ours = name != "lo" && !name.starts_with("docker") && !name.starts_with("virbr") &&
                      !name.starts_with("br-") && !is_there(folder / "tun_flags");
    if (!ours || read_text(folder / "operstate").value_or("") == "down") return;
    Node node;
    node.kind = NodeKind::nic;
    node.host = host_;
    node.name = name;
    // Its speed is a constant of the driver's; what carries it is not to be seen from here.
    node.facts = NicFacts{};
    builder_.add(std::move(node));
  }

  TopologyBuilder& builder_;
  std::uint32_t host_;
  fs::path sys_;
  std::vector<NodeId> ports_;
};

}  // namespace

void add_interfaces(TopologyBuilder& builder, std::uint32_t host, const fs::path& sys) {
  Reader(builder, host, sys).run();
}

}  // namespace gyre::topo
