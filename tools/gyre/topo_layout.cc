#include "tools/gyre/topo_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/gyre/topo_text.hpp"

namespace gyre::tools {

using namespace topo;  // NOLINT(google-build-using-namespace): it speaks of machines throughout
namespace {

using Children = std::map<NodeId, std::vector<NodeId>>;

Children children_of(const Topology& topology, std::uint32_t host) {
  Children children;
  for (const NodeKind kind : {NodeKind::bridge, NodeKind::gpu, NodeKind::nic}) {
    for (const NodeId id : topology.of(host, kind)) {
      children[topology.node(id).parent].push_back(id);
    }
  }
  return children;
}

void move(Box& box, double x, double y) {
  box.x += x;
  box.y += y;
  for (Box& inner : box.inside) move(inner, x, y);
}

Box leaf(const Topology& topology, NodeId id) {
  const Node& node = topology.node(id);
  Box box;
  box.node = id;
  box.width = kLeafWidth;
  box.height = kLeafHeight;
  box.title = node.name;
  if (const NicFacts* nic = node.nic()) {
    box.kind = Box::Kind::nic;
    box.detail = nic->up ? bandwidth_text(nic->bandwidth) : "down";
    return box;
  }
  box.kind = Box::Kind::gpu;
  box.detail = node.pci.bus;
  return box;
}

double width_of(const std::vector<Box>& row) {
  double width = kPadding;
  for (const Box& box : row) width += box.width + kPadding;
  return width;
}

// Children of one kind in the middle of a row, the rows below each other.
void place_row(std::vector<Box> row, double& y, Box& around) {
  if (row.empty()) return;
  double x = kPadding + (around.width - width_of(row)) / 2, tallest = 0;
  for (Box& box : row) {
    move(box, x, y);
    x += box.width + kPadding;
    tallest = std::max(tallest, box.height);
    around.inside.push_back(std::move(box));
  }
  y += tallest + kPadding;
}

class Maker {
 public:
  Maker(const Topology& topology, std::uint32_t host)
      : topology_(topology), children_(children_of(topology, host)) {}

  Box around(Box box, const std::vector<NodeId>& ids) const {
    std::vector<Box> bridges, gpus, nics;
    for (const NodeId id : ids) sort_in(id, bridges, gpus, nics);
    box.width = std::max({label_width(box), width_of(bridges), width_of(gpus), width_of(nics)});
    double y = kPadding;
    place_row(std::move(bridges), y, box);
    place_row(std::move(gpus), y, box);
    place_row(std::move(nics), y, box);
    box.height = y + kLabelHeight;
    return box;
  }

  const std::vector<NodeId>& below(NodeId id) const {
    static const std::vector<NodeId> none;
    const auto found = children_.find(id);
    return found != children_.end() ? found->second : none;
  }

 private:
  static double label_width(const Box& box) {
    constexpr double kLetter = 6.6;
    return kLetter * static_cast<double>(box.title.size() + box.detail.size() + 2) + 2 * kPadding;
  }

  void sort_in(NodeId id, std::vector<Box>& bridges, std::vector<Box>& gpus,
               std::vector<Box>& nics) const {
    const NodeKind kind = topology_.node(id).kind;
    if (kind == NodeKind::gpu) {
      gpus.push_back(leaf(topology_, id));
    } else if (kind == NodeKind::nic) {
      nics.push_back(leaf(topology_, id));
    } else if (const auto& inner = below(id); inner.size() == 1) {
      // A bridge for one device alone joins nothing.
      sort_in(inner.front(), bridges, gpus, nics);
    } else if (!inner.empty()) {
      Box box;
      box.kind = Box::Kind::bridge;
      box.node = id;
      box.title = "PCI " + topology_.node(id).pci.bus;
      bridges.push_back(around(std::move(box), inner));
    }
  }

  const Topology& topology_;
  Children children_;
};

}  // namespace

std::string fitted(const std::string& text, double width) {
  constexpr double kLetter = 6.7;
  const auto most = static_cast<std::size_t>(width / kLetter);
  return text.size() <= most || most < 2 ? text : text.substr(0, most - 1) + "~";
}

HostLayout lay_out(const Topology& topology, std::uint32_t host) {
  const Maker maker(topology, host);
  HostLayout layout;
  const auto add = [&](Box box, const std::vector<NodeId>& inside) {
    box = maker.around(std::move(box), inside);
    if (!layout.boxes.empty()) layout.width += kSocketGap;
    move(box, layout.width, 0);
    layout.width += box.width;
    layout.height = std::max(layout.height, box.height);
    layout.boxes.push_back(std::move(box));
  };
  for (const NodeId cpu : topology.of(host, NodeKind::cpu)) {
    Box box;
    box.kind = Box::Kind::numa;
    box.node = cpu;
    box.title = topology.node(cpu).name;
    const CpuFacts& facts = *topology.node(cpu).cpu();
    if (facts.cores > 0) box.detail = fmt::format("{} cores", facts.cores);
    add(std::move(box), maker.below(cpu));
  }
  if (const auto& lost = maker.below(kNoNode); !lost.empty()) {
    Box box;
    box.kind = Box::Kind::lost;
    box.title = "where is not known";
    add(std::move(box), lost);
  }
  for (Box& box : layout.boxes) box.height = layout.height;
  return layout;
}

}  // namespace gyre::tools
