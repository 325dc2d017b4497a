#include "tools/gyre/topo_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "tools/gyre/svg.hpp"
#include "tools/gyre/topo_layout.hpp"
#include "tools/gyre/topo_text.hpp"
#include "topology/direct.hpp"

namespace gyre::tools {

using namespace topo;  // NOLINT(google-build-using-namespace): it speaks of machines throughout
namespace {

constexpr double kMargin = 20, kTitle = 26, kArcs = 118, kBar = 30, kStem = 34, kLine = 17;

// What a kind of direct link looks like: by its kind and how many are bonded.
struct Style {
  LinkKind kind;
  int count;
  // clang-tidy 14 takes the comparison with 0 that this implies for a null pointer.
  auto operator<=>(const Style&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Styles = std::map<Style, Figure>;

const char* colour_of(LinkKind kind) { return kind == LinkKind::xgmi ? "#d55e00" : "#5b9a00"; }

double width_of(int count) { return 1.2 + 1.1 * (count - 1); }

std::string_view class_of(Box::Kind kind) {
  switch (kind) {
    case Box::Kind::numa:
      return "numa";
    case Box::Kind::bridge:
      return "bridge";
    case Box::Kind::gpu:
      return "gpu";
    case Box::Kind::nic:
      return "nic";
    case Box::Kind::lost:
      return "lost";
  }
  return "";
}

std::string rectangle(double x, double y, double width, double height, std::string_view kind) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" "
      "class=\"{}\"/>\n",
      x, y, width, height, kind);
}

// One host, drawn with its corner at (0, 0).
class HostDrawing {
 public:
  HostDrawing(const Topology& topology, std::uint32_t host, Styles& styles)
      : topology_(topology), host_(host), layout_(lay_out(topology, host)) {
    for (const Box& box : layout_.boxes) find_places(box);
    const auto gpus = topology.of(host, NodeKind::gpu);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (const auto ports = switch_ports(topology, gpus[i]))
        switched_.emplace_back(gpus[i], *ports);
      for (std::size_t j = i + 1; j < gpus.size(); ++j) {
        const auto link = direct_link(topology, gpus[i], gpus[j]);
        if (!link || link->switched) continue;
        arcs_.push_back({gpus[i], gpus[j], *link});
        styles.try_emplace({link->kind, link->count}, link->bandwidth);
      }
    }
    top_ = kTitle + (arcs_.empty() ? 0 : kArcs) + (switched_.empty() ? 0 : kBar + kStem);
  }

  double width() const { return std::max(layout_.width, 240.0); }
  double height() const { return top_ + layout_.height; }

  std::string text() const {
    std::string svg = text_at(0, 15, "start", topology_.hosts()[host_], " class=\"title\"");
    svg += bar();
    for (const Box& box : layout_.boxes) svg += drawn(box);
    // Above the boxes that they cross on their way.
    for (const auto& [gpu, ports] : switched_) svg += stem(gpu, ports);
    for (const Arc& arc : arcs_) svg += drawn(arc);
    return svg + sockets();
  }

 private:
  struct Arc {
    NodeId a, b;
    DirectLink link;
  };
  struct Place {
    double x, y;  // the middle of a box's upper edge
  };

  void find_places(const Box& box) {
    if (box.kind == Box::Kind::gpu) places_[box.node] = {box.x + box.width / 2, box.y};
    for (const Box& inner : box.inside) find_places(inner);
  }
  Place place(NodeId gpu) const {
    const Place found = places_.at(gpu);
    return {found.x, found.y + top_};
  }

  std::string drawn(const Box& box) const {
    const double y = box.y + top_;
    std::string svg = rectangle(box.x, y, box.width, box.height, class_of(box.kind));
    if (box.kind == Box::Kind::gpu || box.kind == Box::Kind::nic) {
      const double middle = box.x + box.width / 2;
      svg += text_at(middle, y + 17, "middle", fitted(box.title, box.width), " class=\"name\"");
      svg += text_at(middle, y + 32, "middle", fitted(box.detail, box.width), " class=\"small\"");
      return svg;
    }
    const std::string label =
        box.detail.empty() ? box.title : fmt::format("{}, {}", box.title, box.detail);
    svg += text_at(box.x + kPadding, y + box.height - 6, "start", label,
                   box.kind == Box::Kind::bridge ? " class=\"small\"" : " class=\"name\"");
    for (const Box& inner : box.inside) svg += drawn(inner);
    return svg;
  }

  // The higher, the farther apart.
  std::string drawn(const Arc& arc) const {
    const Place a = place(arc.a), b = place(arc.b);
    const double across = std::abs(b.x - a.x) / std::max(1.0, layout_.width);
    const double top = top_ - 12 - (kArcs - 24) * std::sqrt(across);
    // A curve reaches three quarters of the way to its control points.
    const auto control = [top](double y) { return y + (top - y) * 4 / 3; };
    return fmt::format(
        "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" "
        "stroke=\"{}\" stroke-width=\"{:.1f}\" stroke-opacity=\"0.75\"/>\n",
        a.x, a.y, a.x, control(a.y), b.x, control(b.y), b.x, b.y, colour_of(arc.link.kind),
        width_of(arc.link.count));
  }

  std::string bar() const {
    if (switched_.empty()) return {};
    const auto switches = topology_.of(host_, NodeKind::nvswitch).size();
    std::string svg = rectangle(0, kTitle, layout_.width, kBar, "nvswitch");
    const DirectLink& ports = switched_.front().second;
    return svg + text_at(layout_.width / 2, kTitle + 19, "middle",
                         fmt::format("{} NVSwitch{}: {} NVLinks of each GPU, {} together", switches,
                                     switches == 1 ? "" : "es", ports.count,
                                     bandwidth_text(ports.bandwidth)),
                         " class=\"name\"");
  }

  std::string stem(NodeId gpu, const DirectLink& ports) const {
    const Place to = place(gpu);
    return fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
        "stroke-width=\"{4:.1f}\"/>\n",
        to.x, kTitle + kBar, to.y, colour_of(LinkKind::nvlink),
        std::min(5.0, 1.0 + ports.count / 4.0));
  }

  // Between neighbours; those farther apart are joined alike.
  std::string sockets() const {
    std::string svg;
    for (std::size_t i = 0; i + 1 < layout_.boxes.size(); ++i) {
      const Box& left = layout_.boxes[i];
      const Box& right = layout_.boxes[i + 1];
      if (left.kind != Box::Kind::numa || right.kind != Box::Kind::numa) continue;
      const double y = top_ + layout_.height - kLabelHeight / 2;
      const double from = left.x + left.width;
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"sys\"/>\n", from,
          y, right.x, y);
      for (const Link& link : topology_.links(left.node)) {
        if (link.to != right.node || link.kind != LinkKind::sys) continue;
        svg += text_at((from + right.x) / 2, y - 20, "middle", "SYS", " class=\"small\"");
        svg += text_at((from + right.x) / 2, y - 7, "middle", bandwidth_text(link.bandwidth),
                       " class=\"small\"");
      }
    }
    return svg;
  }

  const Topology& topology_;
  std::uint32_t host_;
  HostLayout layout_;
  double top_ = 0;
  std::map<NodeId, Place> places_;
  std::vector<std::pair<NodeId, DirectLink>> switched_;
  std::vector<Arc> arcs_;
};

std::string heading_of(const Topology& topology) {
  std::size_t gpus = 0, nics = 0;
  for (std::uint32_t host = 0; host < topology.hosts().size(); ++host) {
    gpus += topology.of(host, NodeKind::gpu).size();
    nics += topology.of(host, NodeKind::nic).size();
  }
  std::string text =
      fmt::format("{} host{}, {} GPUs, {} network interfaces", topology.hosts().size(),
                  topology.hosts().size() == 1 ? "" : "s", gpus, nics);
  if (!topology.net_switches().empty()) {
    const std::size_t count = topology.net_switches().size();
    text += fmt::format(", a network of {} switch{}", count, count == 1 ? "" : "es");
  }
  if (topology.hosts().size() > kMostDrawn) text += fmt::format("; the first {} hosts", kMostDrawn);
  return text;
}

// One line of samples for the kinds of arcs.
std::string legend(const Styles& styles, double y) {
  std::string svg;
  double x = 0;
  for (const auto& [style, bandwidth] : styles) {
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h30\" stroke=\"{}\" stroke-width=\"{:.1f}\"/>\n", x,
                       y - 4, colour_of(style.kind), width_of(style.count));
    svg += text_at(x + 37, y, "start",
                   fmt::format("{} {}{}: {}", style.count, name_of(style.kind),
                               style.count == 1 ? "" : "s", bandwidth_text(bandwidth)));
    x += 190;
  }
  return svg;
}

std::string ring_line(const Topology& topology, const Ring& ring) {
  constexpr std::size_t kMost = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, ring.order.size()); ++i) {
    text += (i == 0 ? "" : " ") + device_name(topology, ring.order[i]);
  }
  if (ring.order.size() > kMost) text += fmt::format(" ... ({} in all)", ring.order.size());
  return text;
}

std::string rings_text(const Topology& topology, const Orders& orders, double y) {
  std::string svg = text_at(
      0, y, "start",
      fmt::format("{} rings, {} together", orders.rings.size(), bandwidth_text(orders.bandwidth)),
      " class=\"title\"");
  for (std::size_t i = 0; i < orders.rings.size(); ++i) {
    y += kLine;
    svg += text_at(84, y, "end", bandwidth_text(orders.rings[i].bandwidth));
    svg += text_at(96, y, "start", ring_line(topology, orders.rings[i]));
  }
  return svg;
}

constexpr const char* kStyle =
    "<style>text{fill:#222}.title{font-size:14px;font-weight:bold}.name{font-weight:bold}"
    ".small{font-size:11px;fill:#555}.numa{fill:#fbfbfb;stroke:#888}.bridge{fill:#f0f0f0;"
    "stroke:#c4c4c4}.gpu{fill:#e2f0d4;stroke:#5b9a00}.nic{fill:#dbe9f6;stroke:#0072b2}"
    ".nvswitch{fill:#e2f0d4;stroke:#5b9a00}.lost{fill:#fff;stroke:#888;stroke-dasharray:4 3}"
    ".sys{stroke:#888;stroke-width:3}</style>\n<rect width=\"100%\" height=\"100%\" "
    "fill=\"#fff\"/>\n";

}  // namespace

std::string topo_svg(const Topology& topology, const Orders& orders) {
  Styles styles;
  std::vector<HostDrawing> hosts;
  const std::size_t count = std::min(kMostDrawn, topology.hosts().size());
  for (std::uint32_t host = 0; host < count; ++host) hosts.emplace_back(topology, host, styles);
  const std::size_t columns = count > 2 ? 2 : 1;
  double cell = 640;
  for (const HostDrawing& host : hosts) cell = std::max(cell, host.width());

  constexpr double kGap = 34;
  std::string body;
  double y = 2 * kTitle, tallest = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const double x = static_cast<double>(i % columns) * (cell + kGap);
    body +=
        fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, y, hosts[i].text());
    tallest = std::max(tallest, hosts[i].height());
    if (i % columns + 1 == columns || i + 1 == hosts.size()) {
      y += std::exchange(tallest, 0) + kGap;
    }
  }
  if (!styles.empty()) {
    body += legend(styles, y);
    y += kTitle;
  }
  body += rings_text(topology, orders, y);
  y += kLine * static_cast<double>(orders.rings.size());
  const double width = static_cast<double>(columns) * (cell + kGap) - kGap + 2 * kMargin;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
             "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
             "font-size=\"12\">\n",
             width, y + 2 * kMargin) +
         kStyle + fmt::format("<g transform=\"translate({0:.0f} {0:.0f})\">\n", kMargin) +
         text_at(0, 14, "start", heading_of(topology), " class=\"title\"") + body +
         "</g>\n</svg>\n";
}

}  // namespace gyre::tools
