// Places on the PCI bus as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gyre::topo {

// "domain:bus:device.function" in lower case, the domain of at least four digits; empty if `text`
// is no such place. Without a domain, it is 0.
std::string pci_address(std::string_view text);
std::string pci_address(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                        std::uint32_t function);

}  // namespace gyre::topo
