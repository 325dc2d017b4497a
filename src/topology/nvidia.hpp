// What NVIDIA's driver says of its GPUs. Its libraries are opened where they are installed; nothing
// of them is needed to build or start.
#pragma once

#include <string>
#include <vector>

#include "topology/builder.hpp"

namespace gyre::topo {

struct NvlinkPort {
  enum class End : std::uint8_t { gpu, processor, nvswitch, unknown };
  End end = End::unknown;
  std::string bus;  // of what is there; empty where the driver hides it
};

struct NvidiaGpu {
  std::string bus, model;
  int index = -1;  // CUDA's, as CUDA_VISIBLE_DEVICES has it; -1: not visible
  int compute = 0;
  std::vector<NvlinkPort> ports;  // the active ones
};

// Empty where there is no driver or it does not answer.
std::vector<NvidiaGpu> ask_nvidia_driver();

// Adds what the driver says to what is known of the bus. A GPU that is not on the bus (virtual
// machines, containers) is added with no known way to the rest.
void add_nvidia(TopologyBuilder& builder, std::uint32_t host, const std::vector<NvidiaGpu>& gpus);

}  // namespace gyre::topo
