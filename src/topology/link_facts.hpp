// What vendors publish about a generation of links: the figures for files and systems that name the
// generation and no speed. Unknown generations have no figure.
#pragma once

#include <string_view>

#include "topology/topology.hpp"

namespace gyre::topo {

// GB/s of one NVLink in one direction, by 10 x major + minor of the compute capability.
Figure nvlink_bandwidth(int compute);
// The same by the model's name, for files that know no compute capability.
Figure nvlink_bandwidth(std::string_view model);

// GB/s of one xGMI link in one direction, by "gfx942", "942" or RCCL's old "910" for gfx90a.
Figure xgmi_bandwidth(std::string_view gcn);

// GB/s of a PCI device's link in one direction, after its line code.
Figure pcie_bandwidth(const PciFacts& pci);

// GT/s of a lane from "16.0 GT/s PCIe"; 0 if it says anything else.
double pcie_speed(std::string_view text);

// GB/s between two sockets of such processors, as the vendor libraries assume them.
Figure socket_bandwidth(const CpuFacts& cpu);

// Microseconds of one hop, as the vendor libraries' tuning assumes them; none for networks.
Figure nominal_latency(LinkKind kind);

}  // namespace gyre::topo
