// Topology files of the vendor libraries' format, and synthetic names: what is read can be written,
// read again, and asked for paths and orders.
#include <string>

#include "tests/fuzz/fuzz_bootstrap.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/orders.hpp"
#include "topology/paths.hpp"
#include "topology/pci_address.hpp"
#include "topology/synthetic.hpp"
#include "topology/transports.hpp"

namespace {

using gyre::fuzz::require;

void check_file(std::string_view text) {
  const auto topology = gyre::topo::read_nccl_xml(text, "f.xml");
  if (!topology) {
    require(topology.error().text.starts_with("f.xml:"));
    return;
  }
  const std::string written = gyre::topo::write_nccl_xml(*topology);
  const auto again = gyre::topo::read_nccl_xml(written, "again");
  require(static_cast<bool>(again));
  require(again->devices().size() >= topology->of(0, gyre::topo::NodeKind::gpu).size());
  const auto devices = topology->devices();
  if (devices.empty() || devices.size() > 8) return;
  for (const gyre::topo::NodeId to : devices) {
    const auto path = gyre::topo::shortest_path(*topology, devices.front(), to);
    require((path.kind == gyre::topo::PathKind::unknown) == path.nodes.empty());
    require(gyre::topo::widest_path(*topology, devices.front(), to).nodes.empty() ==
            path.nodes.empty());
    require(gyre::topo::transports_between(*topology, devices.front(), to).size() == 4);
  }
  for (const gyre::topo::Ring& ring :
       gyre::topo::find_orders(*topology, {.budget = 10'000}).rings) {
    require(ring.order.size() == devices.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = gyre::fuzz::text(data, size);
  check_file(text);
  // Clusters of thousands of hosts cost more than they show.
  if (size < 12) {
    if (const auto made = gyre::topo::synthetic_topology(text)) require(!made->devices().empty());
  }
  const std::string place = gyre::topo::pci_address(text.substr(0, 32));
  require(place.empty() || gyre::topo::pci_address(place) == place);
  return 0;
}
