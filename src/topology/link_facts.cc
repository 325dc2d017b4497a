#include "topology/link_facts.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace gyre::topo {

Figure nvlink_bandwidth(int compute) {
  switch (compute) {
    case 60:
      return 20;  // NVLink 1
    case 70:
    case 72:
    case 80:
    case 90:
      return 25;  // NVLink 2 to 4: more links, not faster ones
    case 86:
      return 14.0625;
    case 100:
    case 103:
      return 50;
    default:
      return {};
  }
}

Figure nvlink_bandwidth(std::string_view model) {
  constexpr std::array<std::pair<std::string_view, int>, 9> kModels = {{{"P100", 60},
                                                                        {"V100", 70},
                                                                        {"A100", 80},
                                                                        {"A800", 80},
                                                                        {"H100", 90},
                                                                        {"H200", 90},
                                                                        {"H800", 90},
                                                                        {"GH200", 90},
                                                                        {"B200", 100}}};
  for (const auto& [name, compute] : kModels) {
    if (model.find(name) != std::string_view::npos) return nvlink_bandwidth(compute);
  }
  return {};
}

Figure xgmi_bandwidth(std::string_view gcn) {
  // Lanes x rate of a link in one direction: 16 lanes at 23, 25, 32 and 38.4 Gbit/s.
  constexpr std::array<std::pair<std::string_view, double>, 8> kGenerations = {{{"906", 46},
                                                                                {"908", 46},
                                                                                {"90a", 50},
                                                                                {"910", 50},
                                                                                {"940", 64},
                                                                                {"941", 64},
                                                                                {"942", 64},
                                                                                {"950", 76.8}}};
  if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
  for (const auto& [name, bandwidth] : kGenerations) {
    if (gcn.starts_with(name)) return bandwidth;
  }
  return {};
}

Figure pcie_bandwidth(const PciFacts& pci) {
  if (pci.bandwidth) return pci.bandwidth;
  if (pci.speed <= 0 || pci.width <= 0) return {};
  constexpr double kFirstOf128b = 8;  // GT/s: slower generations send 10 bits for 8
  const double code = pci.speed < kFirstOf128b ? 8.0 / 10 : 128.0 / 130;
  return pci.speed * code * pci.width / 8;
}

double pcie_speed(std::string_view text) {
  double speed = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), speed).ptr;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr double kAbsurd = 1000;
  return unit.starts_with(" GT/s") && speed > 0 && speed < kAbsurd ? speed : 0;
}

Figure socket_bandwidth(const CpuFacts& cpu) {
  if (cpu.arch == "ppc64") return 32;
  if (cpu.arch == "arm64") return 6;
  if (cpu.vendor == "AuthenticAMD") return 16;
  if (cpu.vendor != "GenuineIntel" || cpu.family != 6) return {};
  if (cpu.model >= 0xCF) return 40;  // Emerald Rapids
  if (cpu.model >= 0x8F) return 22;  // Sapphire Rapids
  if (cpu.model >= 0x55) return 10;  // Skylake
  return 6;                          // Broadwell and before
}

Figure nominal_latency(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
    case LinkKind::xgmi:
    case LinkKind::c2c:
      return 0.6;
    case LinkKind::pcie:
    case LinkKind::sys:
      return 1.0;
    case LinkKind::net:
      break;
  }
  return {};
}

}  // namespace gyre::topo
