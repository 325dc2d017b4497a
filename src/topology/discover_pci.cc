#include "topology/discover_pci.hpp"

#include <algorithm>
#include <system_error>

#include "topology/link_facts.hpp"
#include "topology/sysfs.hpp"

namespace gyre::topo {
namespace {

struct Rate {
  double speed = 0;  // GT/s; 0: not known
  int width = 0;
};

Rate rate_of(const std::filesystem::path& device) {
  constexpr std::int64_t kWidest = 32;
  Rate rate;
  rate.speed = pcie_speed(read_text(device / "max_link_speed").value_or(""));
  const std::int64_t width = read_integer(device / "max_link_width").value_or(0);
  // Devices without a link say 0 or 255.
  if (width > 0 && width <= kWidest) rate.width = static_cast<int>(width);
  return rate;
}

template <typename Number>
Number least_known(Number a, Number b) {
  return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

}  // namespace

void add_pci_rates(TopologyBuilder& builder, std::uint32_t host, const std::filesystem::path& sys) {
  for (const NodeKind kind : {NodeKind::bridge, NodeKind::gpu, NodeKind::nic, NodeKind::nvswitch}) {
    for (const NodeId id : builder.of(host, kind)) {
      PciFacts& pci = builder.node(id).pci;
      if (pci.bus.empty()) continue;
      std::error_code error;
      const auto device = std::filesystem::canonical(sys / "bus/pci/devices" / pci.bus, error);
      if (error) continue;
      const Rate own = rate_of(device);
      const Rate port = rate_of(device.parent_path());
      const Rate rate{least_known(own.speed, port.speed), least_known(own.width, port.width)};
      if (rate.speed <= 0 || rate.width <= 0) continue;
      pci.speed = rate.speed;
      pci.width = rate.width;
      pci.bandwidth.reset();
    }
  }
}

}  // namespace gyre::topo
