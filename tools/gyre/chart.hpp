// Charts with logarithmic axes as SVG text. Knows nothing of what is drawn.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace gyre::tools {

struct Point {
  double x = 0;
  double y = 0;
};

struct Line {
  std::string name;
  std::vector<Point> points;  // by rising x; all > 0
  bool bound = false;         // a limit rather than a measurement: dashed, grey, unmarked
};

struct Panel {
  std::string title;
  std::string y_label;
  std::vector<Line> lines;
  std::string x_label = "bytes";
  bool x_in_bytes = true;  // ticks are sizes ("64K"), else numbers
};

// Panels stand two in a row under one legend; a name has one colour in all of them.
std::string chart_svg(std::span<const Panel> panels, const std::string& heading);

// 1, 2 and 5 times powers of ten within [low, high].
std::vector<double> decimal_ticks(double low, double high);
// Powers of two, a whole number of doublings apart, at most `most` of them.
std::vector<double> binary_ticks(double low, double high, int most);
// "64K", as sizes are written elsewhere.
std::string bytes_text(double bytes);

}  // namespace gyre::tools
