#include "tools/gyre/plot_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/gyre/chart.hpp"

namespace gyre::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLimit = "limit of the machine";

std::string title_of(const Json& row) {
  return fmt::format("{}, {} ranks, {}", row.at("collective").get<std::string>(),
                     row.at("ranks").get<int>(), row.at("transport").get<std::string>());
}

template <typename Entry>
Entry& entry_named(std::vector<Entry>& entries, std::string Entry::*key, const std::string& name) {
  const auto same = [&](const Entry& entry) { return entry.*key == name; };
  const auto found = std::find_if(entries.begin(), entries.end(), same);
  if (found != entries.end()) return *found;
  Entry fresh;
  fresh.*key = name;
  return entries.emplace_back(std::move(fresh));
}

void add_point(Panel& panel, const std::string& name, Point point) {
  if (point.x > 0 && point.y > 0) {
    entry_named(panel.lines, &Line::name, name).points.push_back(point);
  }
}

void add_row(Panel& panel, const Json& row) {
  panel.y_label = "bus bandwidth, GB/s";
  const double bytes = row.at("bytes").get<double>();
  const Json& floor = row.at("floor_us");
  Point limit;
  for (const auto& [name, result] : row.at("libraries").items()) {
    const double bandwidth = result.at("bus_gbps").get<double>();
    add_point(panel, name, {bytes, bandwidth});
    if (floor.is_number()) {
      // The same bytes on the bus in the least time.
      limit = {bytes, bandwidth * result.at("time_us").get<double>() / floor.get<double>()};
    }
  }
  // After the libraries, as it is last in the legend.
  add_point(panel, kLimit, limit);
  entry_named(panel.lines, &Line::name, kLimit).bound = true;
}

std::string heading_of(const Json& report) {
  const Json& machine = report.at("machine");
  return fmt::format("{}, {} cores, {}", machine.at("processor").get<std::string>(),
                     machine.at("cores").get<int>(), machine.at("date").get<std::string>());
}

Error bad_file(const std::string& what) {
  return {Status::invalid_argument, fmt::format("gyre plot: not a file of compare_host: {}", what)};
}

}  // namespace

Result<std::string> plot_text(std::string_view json) {
  try {
    const Json report = Json::parse(json);
    std::vector<Panel> panels;
    for (const Json& row : report.at("rows")) {
      add_row(entry_named(panels, &Panel::title, title_of(row)), row);
    }
    if (panels.empty()) return bad_file("it has no rows");
    return chart_svg(panels, heading_of(report));
  } catch (const Json::exception& failure) {
    return bad_file(failure.what());
  }
}

Result<void> plot_file(const std::string& from, const std::string& to) {
  std::ifstream in(from, std::ios::binary);
  if (!in) return system_error("gyre plot: " + from, errno);
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  GYRE_TRY_ASSIGN(const std::string svg, plot_text(json));
  if (to == "-") {
    std::cout << svg;
    return {};
  }
  std::ofstream out(to, std::ios::binary);
  if (!(out << svg << std::flush)) return system_error("gyre plot: " + to, errno);
  return {};
}

}  // namespace gyre::tools
