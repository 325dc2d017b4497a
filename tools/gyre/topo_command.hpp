// `gyre topo`: the machine as the library sees it, and the orders that it chooses.
#pragma once

#include <string>

#include "base/status.hpp"

namespace gyre::tools {

struct TopoOptions {
  std::string file{};       // a topology file, NCCL's or hwloc's
  std::string synthetic{};  // a made-up machine instead
  bool json = false;
  std::string svg{};   // where a drawing is written
  std::string dump{};  // where the vendor libraries' XML is written
};

// What to print. Without a file or name: NCCL_TOPO_FILE's machine, else this one.
Result<std::string> topo_command(const TopoOptions& options);

}  // namespace gyre::tools
