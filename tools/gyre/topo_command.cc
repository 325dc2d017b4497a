#include "tools/gyre/topo_command.hpp"

#include <cerrno>
#include <fstream>
#include <utility>

#include "base/settings.hpp"
#include "tools/gyre/topo_drawing.hpp"
#include "tools/gyre/topo_json.hpp"
#include "tools/gyre/topo_text.hpp"
#include "topology/discover.hpp"
#include "topology/orders.hpp"
#include "topology/synthetic.hpp"

namespace gyre::tools {

using namespace topo;  // NOLINT(google-build-using-namespace): it speaks of machines throughout
namespace {

Result<Topology> find_topology(const TopoOptions& options) {
  if (!options.synthetic.empty()) return synthetic_topology(options.synthetic);
  if (!options.file.empty()) return load_topology(options.file);
  GYRE_TRY_ASSIGN(const Settings settings, parse_settings());
  return topology_by_settings(settings);
}

}  // namespace

Result<std::string> topo_command(const TopoOptions& options) {
  GYRE_TRY_ASSIGN(const Topology topology, find_topology(options));
  const Orders orders = find_orders(topology);
  if (!options.dump.empty()) GYRE_TRY(dump_topology(topology, options.dump));
  if (!options.svg.empty()) {
    std::ofstream out(options.svg, std::ios::binary);
    if (!(out << topo_svg(topology, orders) << std::flush)) {
      return system_error(options.svg, errno);
    }
  }
  return options.json ? topo_json(topology, orders) : topo_text(topology, orders);
}

}  // namespace gyre::tools
