// `gyre topo`: what it prints, draws and writes, from made-up machines and from files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/gyre/topo_command.hpp"
#include "tools/gyre/topo_layout.hpp"
#include "topology/synthetic.hpp"
#include "topology/xml.hpp"

namespace gyre::tools {

using namespace topo;  // NOLINT(google-build-using-namespace): it speaks of machines throughout
namespace {

std::string text_of(const TopoOptions& options) {
  const auto text = topo_command(options);
  EXPECT_TRUE(text) << text.error().text;
  return text ? *text : "";
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() /
         ("gyre-" + std::to_string(::getpid()) + "-" + name);
}

TEST(Topo, ShowsTreeMatrixTransportsAndOrders) {
  const std::string text = text_of({.synthetic = "mi300x"});
  for (const char* part : {"NUMA0", "GPU7", "AMD Instinct MI300X", "XG1", "PIX", "7 xGMIs 448 GB/s",
                           "7 rings, 448 GB/s together", "2 trees", "p2p", "over XG1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

TEST(Topo, ShowsHostsAlikeOnce) {
  const std::string text = text_of({.synthetic = "20xdgx-h100+4xmi300x:rail"});
  EXPECT_NE(text.find("dgx-h100-0 (host 0) and 19 like it"), std::string::npos)
      << text.substr(0, 500);
  EXPECT_NE(text.find("a matrix is shown for up to 64"), std::string::npos);
}

TEST(Topo, JsonIsForPrograms) {
  const auto json = nlohmann::json::parse(text_of({.synthetic = "dgx-a100", .json = true}));
  EXPECT_EQ(json.at("paths").size(), 56U);
  EXPECT_EQ(json.at("paths")[0].at("kind"), "NV12");
  EXPECT_EQ(json.at("orders").at("rings").size(), 12U);
  EXPECT_TRUE(json.at("nodes")[0].at("parent").is_null());
}

TEST(Topo, WhatIsDumpedShowsTheSame) {
  const auto file = temporary("dump.xml");
  const std::string before = text_of({.synthetic = "dgx-1v", .dump = file.string()});
  const std::string after = text_of({.file = file.string()});
  // Models and counts of cores have no place in the file; paths and rings have.
  EXPECT_EQ(before.substr(before.find("        GPU0")), after.substr(after.find("        GPU0")));
  std::filesystem::remove(file);
}

// No two boxes of devices overlap, and each lies in the one around it.
void expect_inside(const Box& box) {
  for (std::size_t i = 0; i < box.inside.size(); ++i) {
    const Box& inner = box.inside[i];
    EXPECT_GE(inner.x, box.x);
    EXPECT_GE(inner.y, box.y);
    EXPECT_LE(inner.x + inner.width, box.x + box.width);
    EXPECT_LE(inner.y + inner.height, box.y + box.height - kLabelHeight);
    for (std::size_t j = 0; j < i; ++j) {
      const Box& other = box.inside[j];
      EXPECT_TRUE(inner.x >= other.x + other.width || other.x >= inner.x + inner.width ||
                  inner.y >= other.y + other.height || other.y >= inner.y + inner.height);
    }
    expect_inside(inner);
  }
}

TEST(TopoDrawing, BoxesDoNotOverlap) {
  for (const SyntheticModel& model : synthetic_models()) {
    const auto topology = synthetic_topology(model.name);
    ASSERT_TRUE(topology);
    for (const Box& box : lay_out(*topology, 0).boxes) expect_inside(box);
  }
}

TEST(TopoDrawing, IsWellFormedForEveryMachine) {
  for (const std::string name : {"dgx-h100", "mi300x", "dgx-1v", "pcie", "cpu", "8xdgx-h100:rail",
                                 "8xmi300x:fat-tree", "100xcpu"}) {
    const auto file = temporary("drawing.svg");
    text_of({.synthetic = name, .svg = file.string()});
    const std::string svg = contents(file);
    const auto root = parse_xml(svg, name);
    EXPECT_TRUE(root) << root.error().text;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << name;
    std::filesystem::remove(file);
  }
}

TEST(Topo, ErrorsNameFileAndRemedy) {
  const auto missing = topo_command({.file = "/nowhere/topo.xml"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text.find("/nowhere/topo.xml"), std::string::npos);
  const auto unknown = topo_command({.synthetic = "cray"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("dgx-h100"), std::string::npos);
  const auto nowhere = topo_command({.synthetic = "cpu", .svg = "/nowhere/a.svg"});
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("/nowhere/a.svg"), std::string::npos);
}

}  // namespace
}  // namespace gyre::tools
