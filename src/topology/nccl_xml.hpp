// The vendor libraries' topology files: what NCCL_TOPO_FILE names and NCCL_TOPO_DUMP_FILE gets.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topology/topology.hpp"

namespace gyre::topo {

// Whether `text` looks like such a file rather than hwloc's.
bool is_nccl_xml(std::string_view text);

// Reads one. Elements and attributes that are not known are passed over; a wrong value is an error
// that begins with "<file>:<line>: " and says what to write.
Result<Topology> read_nccl_xml(std::string_view text, std::string_view file);

// Writes all hosts, told apart by host_hash if there are several, so that read_nccl_xml gives the
// same topology (without switches between hosts, which the format cannot say).
std::string write_nccl_xml(const Topology& topology);

}  // namespace gyre::topo
