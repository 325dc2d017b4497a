// Small machines for tests.
#pragma once

#include <vector>

#include "topology/builder.hpp"

namespace gyre::topo {

// GPUs on one socket each of two (the first half on the first), joined by `links`: {a, b, count}.
struct TestLink {
  int a, b, count;
};

inline Topology test_machine(int gpus, const std::vector<TestLink>& links) {
  TopologyBuilder builder;
  const auto host = builder.add_host("test");
  std::vector<NodeId> cpus, ids;
  for (int socket = 0; socket < 2; ++socket) {
    Node node;
    node.kind = NodeKind::cpu;
    node.host = host;
    node.index = socket;
    CpuFacts cpu;
    cpu.numa = socket;
    node.facts = cpu;
    cpus.push_back(builder.add(std::move(node)));
  }
  for (int i = 0; i < gpus; ++i) {
    Node node;
    node.kind = NodeKind::gpu;
    node.host = host;
    node.index = i;
    node.parent = cpus[2 * i < gpus ? 0 : 1];
    node.facts = GpuFacts{};
    ids.push_back(builder.add(std::move(node)));
  }
  for (const TestLink& link : links) {
    builder.connect(ids[static_cast<std::size_t>(link.a)], ids[static_cast<std::size_t>(link.b)],
                    {kNoNode, LinkKind::xgmi, link.count, 50.0 * link.count, 0.5});
  }
  return std::move(builder).build();
}

}  // namespace gyre::topo
