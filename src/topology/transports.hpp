// Which ways of moving bytes the topology lets two devices use, and why not the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/paths.hpp"
#include "topology/topology.hpp"

namespace gyre::topo {

struct TransportVerdict {
  std::string_view name;  // "p2p", "shm", "verbs", "socket"
  bool usable = false;
  std::string why;  // over what, or what is missing
};

struct TransportRules {
  bool p2p = true;                      // NCCL_P2P_DISABLE=0
  bool shm = true;                      // NCCL_SHM_DISABLE=0
  bool verbs = true;                    // NCCL_IB_DISABLE=0
  PathKind p2p_reach = PathKind::sys;   // NCCL_P2P_LEVEL
  PathKind rdma_reach = PathKind::pxb;  // NCCL_NET_GDR_LEVEL
};

// A verdict on each, the preferred one first.
std::vector<TransportVerdict> transports_between(const Topology& topology, NodeId a, NodeId b,
                                                 const TransportRules& rules = {});

}  // namespace gyre::topo
