#include <dlfcn.h>

#include <array>
#include <optional>
#include <utility>

#include "topology/nvidia.hpp"
#include "topology/pci_address.hpp"

namespace gyre::topo {
namespace {

// A library that stays: drivers do not survive being unloaded.
class Library {
 public:
  explicit Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  template <typename Function>
  Function* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

// Of NVML's and CUDA's interfaces, what is used, by their documented layout.
using Device = void*;
struct PciInfo {
  std::array<char, 16> bus_legacy;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_text;
};
constexpr unsigned kMostLinks = 36;
constexpr unsigned kEndGpu = 0, kEndProcessor = 1, kEndSwitch = 2;

struct Nvml {
  Library library{"libnvidia-ml.so.1"};
  int (*init)() = library.find<int()>("nvmlInit_v2");
  int (*shutdown)() = library.find<int()>("nvmlShutdown");
  int (*count)(unsigned*) = library.find<int(unsigned*)>("nvmlDeviceGetCount_v2");
  int (*device)(unsigned,
                Device*) = library.find<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
  int (*pci)(Device, PciInfo*) = library.find<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
  int (*name)(Device, char*,
              unsigned) = library.find<int(Device, char*, unsigned)>("nvmlDeviceGetName");
  int (*compute)(Device, int*, int*) =
      library.find<int(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability");
  int (*link_state)(Device, unsigned, unsigned*) =
      library.find<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState");
  int (*link_place)(Device, unsigned, PciInfo*) =
      library.find<int(Device, unsigned, PciInfo*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  int (*link_end)(Device, unsigned, unsigned*) =
      library.find<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkRemoteDeviceType");

  bool complete() const { return init && shutdown && count && device && pci && name && compute; }
};

std::string place_of(const PciInfo& pci) {
  // Virtual machines hide the places of switches: those read as zeroes or as all ones.
  const bool hidden = (pci.bus == 0 && pci.device == 0 && pci.device_id == 0) || pci.bus > 0xff ||
                      pci.device > 0x1f;
  return hidden ? std::string() : pci_address(pci.domain, pci.bus, pci.device, 0);
}

std::vector<NvlinkPort> ports_of(const Nvml& nvml, Device device) {
  std::vector<NvlinkPort> ports;
  if (!nvml.link_state || !nvml.link_place) return ports;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    // The first link that does not exist is refused.
    if (nvml.link_state(device, link, &active) != 0) break;
    if (active == 0) continue;
    NvlinkPort port;
    unsigned end = ~0U;
    if (nvml.link_end && nvml.link_end(device, link, &end) == 0) {
      port.end = end == kEndGpu         ? NvlinkPort::End::gpu
                 : end == kEndProcessor ? NvlinkPort::End::processor
                 : end == kEndSwitch    ? NvlinkPort::End::nvswitch
                                        : NvlinkPort::End::unknown;
    }
    PciInfo pci{};
    if (nvml.link_place(device, link, &pci) == 0) port.bus = place_of(pci);
    ports.push_back(std::move(port));
  }
  return ports;
}

// The places of the devices that CUDA shows, in its order; none if CUDA does not answer.
std::optional<std::vector<std::string>> cuda_order() {
  const Library cuda("libcuda.so.1");
  auto* init = cuda.find<int(unsigned)>("cuInit");
  auto* count = cuda.find<int(int*)>("cuDeviceGetCount");
  auto* get = cuda.find<int(int*, int)>("cuDeviceGet");
  auto* bus_of = cuda.find<int(char*, int, int)>("cuDeviceGetPCIBusId");
  int devices = 0;
  if (!init || !count || !get || !bus_of || init(0) != 0 || count(&devices) != 0) {
    return std::nullopt;
  }
  std::vector<std::string> order;
  for (int i = 0; i < devices; ++i) {
    int device = 0;
    std::array<char, 32> bus{};
    const bool known =
        get(&device, i) == 0 && bus_of(bus.data(), static_cast<int>(bus.size()) - 1, device) == 0;
    order.push_back(known ? pci_address(bus.data()) : std::string());
  }
  return order;
}

}  // namespace

std::vector<NvidiaGpu> ask_nvidia_driver() {
  const Nvml nvml;
  if (!nvml.complete() || nvml.init() != 0) return {};
  std::vector<NvidiaGpu> gpus;
  unsigned count = 0;
  if (nvml.count(&count) != 0) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    PciInfo pci{};
    if (nvml.device(i, &device) != 0 || nvml.pci(device, &pci) != 0) continue;
    NvidiaGpu gpu;
    gpu.bus = place_of(pci);
    gpu.index = static_cast<int>(i);
    std::array<char, 96> name{};
    if (nvml.name(device, name.data(), static_cast<unsigned>(name.size()) - 1) == 0) {
      gpu.model = name.data();
    }
    int major = 0, minor = 0;
    if (nvml.compute(device, &major, &minor) == 0) gpu.compute = 10 * major + minor;
    gpu.ports = ports_of(nvml, device);
    gpus.push_back(std::move(gpu));
  }
  nvml.shutdown();
  if (const auto order = cuda_order()) {
    for (NvidiaGpu& gpu : gpus) gpu.index = -1;
    for (std::size_t i = 0; i < order->size(); ++i) {
      for (NvidiaGpu& gpu : gpus) {
        if (!gpu.bus.empty() && gpu.bus == (*order)[i]) gpu.index = static_cast<int>(i);
      }
    }
  }
  return gpus;
}

}  // namespace gyre::topo
