#include "tools/gyre/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "tools/gyre/svg.hpp"

namespace gyre::tools {
namespace {

constexpr double kPanelWidth = 560, kPanelHeight = 380;
constexpr double kLeft = 64, kRight = 20, kTop = 40, kBottom = 48;  // of a panel
constexpr double kLegendRow = 22, kLegendCell = 170, kHeading = 44;

// Okabe and Ito's colours, which colour-blind readers tell apart, less their yellow, which is too
// pale for a line. The first line is the one that the chart is about.
constexpr std::array kColours = {"#d55e00", "#e69f00", "#0072b2", "#009e73", "#cc79a7",
                                 "#56b4e9", "#6a3d9a", "#333333", "#8c564b", "#7f9c00"};

struct Range {
  double low = std::numeric_limits<double>::max();
  double high = 0;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Where `value` lies, from 0 to 1.
  double place(double value) const {
    return high > low ? std::log(value / low) / std::log(high / low) : 0.5;
  }
};

// Where the index-th of things in rows lies.
struct Cell {
  int column, row;
};
Cell cell_of(int index, int columns) { return {index % columns, index / columns}; }

// Names in the order in which they first appear.
class Legend {
 public:
  explicit Legend(std::span<const Panel> panels) {
    for (const Panel& panel : panels) {
      for (const Line& line : panel.lines) add(line);
    }
  }
  const std::vector<Line>& entries() const { return entries_; }

  std::string style(const Line& line) const {
    if (line.bound) return "stroke=\"#999\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"";
    const std::size_t at = index_of(line.name);
    return fmt::format("stroke=\"{}\" stroke-width=\"{}\"", colour(line), at == 0 ? 3 : 1.75);
  }
  const char* colour(const Line& line) const {
    return kColours.at(index_of(line.name) % kColours.size());
  }

 private:
  void add(const Line& line) {
    if (index_of(line.name) == entries_.size()) entries_.push_back({line.name, {}, line.bound});
  }
  std::size_t index_of(const std::string& name) const {
    const auto same = [&](const Line& entry) { return entry.name == name; };
    return static_cast<std::size_t>(std::find_if(entries_.begin(), entries_.end(), same) -
                                    entries_.begin());
  }
  std::vector<Line> entries_;
};

// One panel, drawn with its corner at (0, 0).
class Drawing {
 public:
  Drawing(const Panel& panel, const Legend& legend) : panel_(panel), legend_(legend) {
    for (const Line& line : panel.lines) {
      for (const Point& point : line.points) {
        x_.include(point.x);
        y_.include(point.y);
      }
    }
    // Room above and below, so that no line runs along the frame.
    y_.low /= 1.3;
    y_.high *= 1.3;
  }

  std::string text() const {
    std::string svg = text_at(kLeft, kTop - 14, "start", panel_.title, " class=\"title\"");
    if (y_.high <= 0) return svg;
    svg += grid();
    // Backwards, so that the first line lies on top.
    for (auto line = panel_.lines.rbegin(); line != panel_.lines.rend(); ++line)
      svg += drawn(*line);
    return svg;
  }

 private:
  static constexpr double kWide = kPanelWidth - kLeft - kRight;
  static constexpr double kHigh = kPanelHeight - kTop - kBottom;

  double across(double x) const { return kLeft + kWide * x_.place(x); }
  double down(double y) const { return kTop + kHigh * (1 - y_.place(y)); }

  std::string grid() const {
    std::string svg;
    for (const double tick : decimal_ticks(y_.low, y_.high)) {
      svg += rule(kLeft, down(tick), kLeft + kWide, down(tick), "grid");
      svg += text_at(kLeft - 8, down(tick) + 4, "end", fmt::format("{:g}", tick));
    }
    constexpr int kMostTicks = 9;
    for (const double tick : binary_ticks(x_.low, x_.high, kMostTicks)) {
      svg += rule(across(tick), kTop, across(tick), kTop + kHigh, "grid");
      svg += text_at(across(tick), kTop + kHigh + 18, "middle",
                     panel_.x_in_bytes ? bytes_text(tick) : fmt::format("{:g}", tick));
    }
    svg += rule(kLeft, kTop + kHigh, kLeft + kWide, kTop + kHigh, "axis");
    svg += text_at(kLeft + kWide / 2, kTop + kHigh + 38, "middle", panel_.x_label);
    const double middle = kTop + kHigh / 2;
    svg += text_at(14, middle, "middle", panel_.y_label,
                   fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", middle));
    return svg;
  }

  std::string drawn(const Line& line) const {
    std::string path, marks;
    for (const Point& point : line.points) {
      path += fmt::format("{:.1f},{:.1f} ", across(point.x), down(point.y));
      if (line.bound) continue;
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.8\" fill=\"{}\"/>\n",
                           across(point.x), down(point.y), legend_.colour(line));
    }
    return fmt::format("<polyline fill=\"none\" {} points=\"{}\"/>\n", legend_.style(line), path) +
           marks;
  }

  const Panel& panel_;
  const Legend& legend_;
  Range x_, y_;
};

std::string legend_text(const Legend& legend, double width) {
  const int columns = std::max(1, static_cast<int>((width - kLeft) / kLegendCell));
  std::string svg;
  int index = 0;
  for (const Line& entry : legend.entries()) {
    const Cell cell = cell_of(index, columns);
    const double x = kLeft + kLegendCell * cell.column;
    const double y = kHeading + kLegendRow * cell.row;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h26\" fill=\"none\" {}/>\n", x, y,
                       legend.style(entry));
    svg += text_at(x + 32, y + 4, "start", entry.name);
    ++index;
  }
  return svg;
}

double legend_height(const Legend& legend, double width) {
  const int columns = std::max(1, static_cast<int>((width - kLeft) / kLegendCell));
  const auto entries = static_cast<int>(legend.entries().size());
  const int rows = cell_of(entries + columns - 1, columns).row;
  return kLegendRow * rows;
}

}  // namespace

std::vector<double> decimal_ticks(double low, double high) {
  std::vector<double> ticks;
  // Past two decades, only the powers of ten: the rest would crowd.
  const bool dense = high / low < 200;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high);
       ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10.0, power);
      if ((dense || digit == 1.0) && tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<double> binary_ticks(double low, double high, int most) {
  const int first = static_cast<int>(std::ceil(std::log2(low)));
  const int last = static_cast<int>(std::floor(std::log2(high)));
  const int stride = std::max(1, (last - first + most - 1) / std::max(1, most - 1));
  std::vector<double> ticks;
  for (int power = first; power <= last; power += stride) ticks.push_back(std::exp2(power));
  return ticks;
}

std::string bytes_text(double bytes) {
  std::string_view unit;
  for (const std::string_view larger : {"K", "M", "G"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:g}{}", bytes, unit);
}

std::string chart_svg(std::span<const Panel> panels, const std::string& heading) {
  const Legend legend(panels);
  const int columns = panels.size() > 1 ? 2 : 1;
  const int rows = (static_cast<int>(panels.size()) + columns - 1) / columns;
  const double width = kPanelWidth * columns;
  const double top = kHeading + legend_height(legend, width);
  std::string svg = text_at(kLeft, 22, "start", heading, " fill=\"#777\"");
  svg += legend_text(legend, width);
  int index = 0;
  for (const Panel& panel : panels) {
    const Cell cell = cell_of(index, columns);
    svg += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n{}</g>\n",
                       kPanelWidth * cell.column, top + kPanelHeight * cell.row,
                       Drawing(panel, legend).text());
    ++index;
  }
  return svg_document(width, top + kPanelHeight * rows,
                      ".grid{stroke:#e4e4e4}.axis{stroke:#888}"
                      ".title{font-size:14px;font-weight:bold}",
                      svg);
}

}  // namespace gyre::tools
