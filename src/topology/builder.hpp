// Collects what a topology is made from, in any order and from several sources, and makes it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/topology.hpp"

namespace gyre::topo {

class TopologyBuilder {
 public:
  std::uint32_t add_host(std::string name);
  NodeId add(Node node);
  Node& node(NodeId id) { return nodes_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }

  // Joins two nodes in both directions. The PCI links to parents, the socket links between NUMA
  // nodes of a host, and links between NVSwitches that no GPU joins are made by build().
  void connect(NodeId a, NodeId b, Link link);
  // The device (no bridge) of a host at a PCI place; kNoNode if there is none.
  NodeId find_device(std::uint32_t host, std::string_view bus) const;
  NodeId find_cpu(std::uint32_t host, int numa) const;
  std::vector<NodeId> of(std::uint32_t host, NodeKind kind) const;
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  // Gives the nodes without an index the next free ones, in order of their PCI places, and those
  // without a name one by kind and index.
  Topology build() &&;

 private:
  struct Edge {
    NodeId from;
    Link link;
  };
  void number_nodes();
  void name_nodes();
  void connect_parents();
  void connect_sockets();
  void connect_switches();

  std::vector<std::string> hosts_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::string> remarks_;
};

}  // namespace gyre::topo
