#include "tools/gyre/timeline_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/gyre/ranges.hpp"
#include "tools/gyre/svg.hpp"

namespace gyre::tools {
namespace {

constexpr double kWidth = 1240, kLeft = 76, kRight = 28;
constexpr double kTop = 96, kBottom = 44;  // above and below the rows
constexpr double kWide = kWidth - kLeft - kRight;
constexpr std::size_t kMostSpans = 60'000;
// Beyond, arrows would cover each other: first their heads go, then they.
constexpr std::size_t kMostHeads = 400, kMostArrows = 12'000;
constexpr double kLeastBox = 2;  // steps that take no time are seen as well

// What a step does with its value decides its colour (Okabe and Ito's).
struct Look {
  std::string_view name;
  std::string_view colour;
};
constexpr std::array<Look, 4> kLooks = {{{"send", "#56b4e9"},
                                         {"reduce and send", "#e69f00"},
                                         {"reduce and store", "#d55e00"},
                                         {"store", "#009e73"}}};

std::size_t look_of(const sim::StepSpan& span) {
  if (span.reduces) return span.stores ? 2 : 1;
  return span.stores ? 3 : 0;
}

// Where the rows are.
class Rows {
 public:
  Rows(std::size_t ranks, std::uint32_t strands)
      : ranks_(ranks),
        strands_(strands),
        height_(std::clamp(1100.0 / static_cast<double>(ranks), 5.0, 46.0)) {}
  double height() const { return height_; }
  double bottom() const { return kTop + height_ * static_cast<double>(ranks_); }
  double top_of(std::uint32_t rank) const { return kTop + height_ * rank; }
  double middle_of(std::uint32_t rank) const { return top_of(rank) + height_ / 2; }
  double gap() const { return height_ >= 20 ? 8 : height_ * 0.2; }
  // A strand's share of the row.
  double box_height() const { return (height_ - 2 * gap()) / strands_; }
  double box_top(std::uint32_t rank, std::uint32_t strand) const {
    return top_of(rank) + gap() + box_height() * strand;
  }
  // Every how many-th row has room for a label.
  std::uint32_t label_stride() const {
    std::uint32_t stride = 1;
    while (stride * height_ < 13) stride *= 2;
    return stride;
  }

 private:
  std::size_t ranks_;
  std::uint32_t strands_;
  double height_;
};

std::uint32_t strands_of(const sim::Timeline& timeline) {
  std::uint32_t most = 0;
  for (const sim::StepSpan& span : timeline.spans) most = std::max(most, span.strand);
  return most + 1;
}

class Diagram {
 public:
  explicit Diagram(const sim::Timeline& timeline)
      : timeline_(timeline), rows_(timeline.ranks.size(), strands_of(timeline)) {
    last_ = std::max(timeline.seconds, 1e-12);
    for (const sim::StepSpan& span : timeline.spans) tiles_ = std::max(tiles_, span.tile + 1);
  }

  std::string text(const std::string& title, const std::string& remark) const {
    const std::string content = heading(title, remark) + legend() + grid() + arrows() + boxes();
    return svg_document(kWidth, rows_.bottom() + kBottom,
                        ".grid{stroke:#e4e4e4}.axis{stroke:#888}.title{font-size:15px;"
                        "font-weight:bold}.tile{font-size:10px;fill:#fff}",
                        arrow_head() + content);
  }

 private:
  double across(double time) const { return kLeft + kWide * time / last_; }
  bool has_arrows() const { return timeline_.flights.size() <= kMostArrows; }
  bool has_heads() const { return timeline_.flights.size() <= kMostHeads; }

  std::string heading(const std::string& title, const std::string& remark) const {
    double busy = 0;
    for (const sim::RankTimes& rank : timeline_.ranks) busy = std::max(busy, rank.busy);
    const std::string facts =
        fmt::format("{}; {} steps, {} messages{}; the busiest rank works {:.0f} % of the time. {}",
                    seconds_text(timeline_.seconds), timeline_.steps, timeline_.messages,
                    has_arrows() ? "" : " (too many to draw)", 100 * busy / last_, remark);
    return text_at(kLeft, 24, "start", title, " class=\"title\"") +
           text_at(kLeft, 44, "start", facts, " fill=\"#777\"");
  }

  std::string legend() const {
    constexpr double kCell = 150, kY = 66;
    std::string svg;
    for (std::size_t i = 0; i < kLooks.size(); ++i) {
      const double x = kLeft + kCell * static_cast<double>(i);
      svg +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"12\" fill=\"{}\"/>\n",
                      x, kY - 10, kLooks[i].colour);
      svg += text_at(x + 20, kY, "start", kLooks[i].name);
    }
    if (!has_arrows()) return svg;
    const double x = kLeft + kCell * static_cast<double>(kLooks.size());
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h24\" stroke=\"#666\"/>\n", x, kY - 4);
    return svg + text_at(x + 30, kY, "start", "message");
  }

  std::string grid() const {
    std::string svg;
    const double bottom = rows_.bottom();
    const std::uint32_t stride = rows_.label_stride();
    for (std::uint32_t rank = 0; rank < timeline_.ranks.size(); ++rank) {
      if (rank % stride != 0) continue;
      svg += text_at(kLeft - 10, rows_.middle_of(rank) + 4, "end",
                     rows_.height() >= 20 ? fmt::format("rank {}", rank) : fmt::format("{}", rank));
      svg += rule(kLeft, rows_.top_of(rank), kLeft + kWide, rows_.top_of(rank), "grid");
    }
    constexpr int kTicks = 10;
    for (const double tick : time_ticks(last_, kTicks)) {
      svg += rule(across(tick), kTop, across(tick), bottom, "grid");
      svg += text_at(across(tick), bottom + 18, "middle", tick == 0 ? "0" : seconds_text(tick));
    }
    svg += rule(kLeft, kTop, kLeft + kWide, kTop, "axis");
    return svg + rule(kLeft, bottom, kLeft + kWide, bottom, "axis");
  }

  std::string boxes() const {
    std::string svg;
    for (const sim::StepSpan& span : timeline_.spans) {
      const double x = across(span.begin);
      const double width = std::max(kLeastBox, across(span.end) - x);
      const double y = rows_.box_top(span.rank, span.strand), height = rows_.box_height();
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x,
          y, width, height, kLooks[look_of(span)].colour);
      if (tiles_ > 1 && width >= 18 && height >= 12) {
        svg += text_at(x + width / 2, y + height / 2 + 3.5, "middle", fmt::format("{}", span.tile),
                       " class=\"tile\"");
      }
    }
    return svg;
  }

  static std::string arrow_head() {
    return "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
           "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\" fill=\"#666\"/>"
           "</marker></defs>\n";
  }

  // From the edge of a row to the edge of another, so that no box hides an end. One colour for all;
  // those that cross many rows, as the last hop of a ring, are paler.
  std::string arrows() const {
    if (!has_arrows()) return "";
    std::string near, far;
    for (const sim::Flight& flight : timeline_.flights) {
      const bool down = flight.to > flight.from;
      const double inset = rows_.gap();
      const double y1 = rows_.top_of(flight.from) + (down ? rows_.height() - inset : inset);
      const double y2 = rows_.top_of(flight.to) + (down ? inset : rows_.height() - inset);
      const std::uint32_t rows = down ? flight.to - flight.from : flight.from - flight.to;
      (rows > 1 ? far : near) +=
          fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                      across(flight.sent), y1, across(flight.arrived), y2);
    }
    const char* head = has_heads() ? " marker-end=\"url(#head)\"" : "";
    const double stroke = has_heads() ? 1.1 : 0.6, pale = has_heads() ? 0.35 : 0.15;
    return fmt::format(
        "<g stroke=\"#666\" stroke-width=\"{0}\" stroke-opacity=\"{4}\"{2}>\n{1}</g>\n"
        "<g stroke=\"#666\" stroke-width=\"{0}\"{2}>\n{3}</g>\n",
        stroke, far, head, near, pale);
  }

  const sim::Timeline& timeline_;
  Rows rows_;
  double last_ = 0;
  std::uint64_t tiles_ = 1;
};

}  // namespace

std::vector<double> time_ticks(double last, int count) {
  const double least = last / std::max(1, count);
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= least * 0.999) {
      step = digit * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= last * 1.000001; ++i) ticks.push_back(i * step);
  return ticks;
}

Result<std::string> draw_timeline(const sim::Timeline& timeline, const std::string& title,
                                  const std::string& remark) {
  if (timeline.spans.size() != timeline.steps || timeline.spans.empty()) {
    return Error{Status::invalid_argument,
                 "a timeline without its steps cannot be drawn; simulate with Options::record"};
  }
  if (timeline.spans.size() > kMostSpans) {
    return Error{Status::invalid_argument,
                 fmt::format("{} steps are too many for a picture, which has room for {}; take "
                             "fewer ranks or fewer bytes",
                             timeline.spans.size(), kMostSpans)};
  }
  return Diagram(timeline).text(title, remark);
}

}  // namespace gyre::tools
