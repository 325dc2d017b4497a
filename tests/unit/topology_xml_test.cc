// The XML reader and the vendor libraries' format: round trips, and errors that name the place.
#include <gtest/gtest.h>

#include <string>

#include "topology/discover.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/paths.hpp"
#include "topology/pci_address.hpp"
#include "topology/synthetic.hpp"
#include "topology/xml.hpp"

namespace gyre::topo {
namespace {

TEST(Xml, ReadsElementsAttributesAndEntities) {
  const auto root = parse_xml(
      "<?xml version=\"1.0\"?>\n<!-- <a> -->\n<a x='1' y=\"&lt;&#x41;&amp;&#x0;\">"
      "\n  text\n  <b/>\n  <c k = \"v\"></c>\n</a>\n",
      "f");
  ASSERT_TRUE(root) << root.error().text;
  EXPECT_EQ(root->name, "a");
  EXPECT_EQ(*root->attribute("y"), std::string("<A&\0", 4));
  EXPECT_EQ(xml_escaped(*root->attribute("y")), "&lt;A&amp;&#x0;");
  EXPECT_EQ(root->attribute("z"), nullptr);
  ASSERT_EQ(root->children.size(), 2U);
  EXPECT_EQ(root->children[1].line, 6);
  EXPECT_EQ(*root->children[1].attribute("k"), "v");
}

void expect_xml_error(std::string_view text, std::string_view begins, std::string_view has) {
  const auto root = parse_xml(text, "f.xml");
  ASSERT_FALSE(root) << text;
  EXPECT_TRUE(root.error().text.starts_with(begins)) << root.error().text;
  EXPECT_NE(root.error().text.find(has), std::string::npos) << root.error().text;
}

TEST(Xml, ErrorsNameFileLineAndWhat) {
  expect_xml_error("", "f.xml:1: ", "no element");
  expect_xml_error("<a>\n<b>\n", "f.xml:3: ", "the end of <b> of line 2 is missing");
  expect_xml_error("<a>\n</b>", "f.xml:2: ", "</b> where </a>");
  expect_xml_error("<a x=1/>", "f.xml:1: ", "quotes");
  expect_xml_error("<a x=\"1/>", "f.xml:1: ", "closing quote");
  expect_xml_error("<a x=\"&who;\"/>", "f.xml:1: ", "&amp;");
  expect_xml_error("<a x='1' x='2'/>", "f.xml:1: ", "two values");
  expect_xml_error("<a/><b/>", "f.xml:1: ", "follows");
  expect_xml_error("<!-- never", "f.xml:1: ", "never ends");
  expect_xml_error("<", "f.xml:1: ", "name");
}

TEST(Xml, EverythingIsBounded) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  expect_xml_error(deep, "f.xml:1: ", "nested");
  expect_xml_error("<" + std::string(100, 'n') + "/>", "f.xml:1: ", "letters");
  expect_xml_error("<a x=\"" + std::string(5000, 'v') + "\"/>", "f.xml:1: ", "bytes");
  std::string many = "<a";
  for (int i = 0; i < 65; ++i) many += " x" + std::to_string(i) + "=''";
  expect_xml_error(many + "/>", "f.xml:1: ", "more than 64");
  EXPECT_FALSE(parse_xml("<a><b/><b/></a>", "f", {.elements = 2}));
  EXPECT_FALSE(parse_xml("<a></a>", "f", {.bytes = 3}));
}

TEST(PciAddress, OneFormForAll) {
  EXPECT_EQ(pci_address("0000:C1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(pci_address("00000000:c1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(pci_address("c1:1f.7"), "0000:c1:1f.7");
  EXPECT_EQ(pci_address("10000:01:00.0"), "10000:01:00.0");
  for (const char* bad : {"", "c1", "c1:00", "0000:c1:20.0", "0:100:0.0", "x:1:1.1", "a:b:c:d.e",
                          "ffffffff:ffff:ff", "-1:00:00.0"}) {
    EXPECT_EQ(pci_address(bad), "") << bad;
  }
}

constexpr const char* kSmall = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:18:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:20:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1c:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
          <net name="mlx5_1" dev="1" speed="400000" port="2" guid="0x1" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
    <pci busid="0000:1d:00.0" class="0x030200">
      <gpu dev="1" sm="90" rank="1" gdr="1">
        <nvlink target="0000:20:00.0" count="18" tclass="0x068000"/>
        <nvlink target="0000:99:00.0" count="1" tclass="0x030200"/>
        <c2c bw="450000" count="1"/>
      </gpu>
    </pci>
  </cpu>
  <cpu numaid="-1"><nic><net name="eth0" dev="2" speed="10000" port="0"/></nic></cpu>
</system>
)";

TEST(NcclXml, ReadsWhatAFileSays) {
  const auto topology = read_nccl_xml(kSmall, "small.xml");
  ASSERT_TRUE(topology) << topology.error().text;
  const auto gpus = topology->of(0, NodeKind::gpu);
  const auto nics = topology->of(0, NodeKind::nic);
  ASSERT_EQ(gpus.size(), 2U);
  ASSERT_EQ(nics.size(), 3U);
  EXPECT_EQ(topology->of(0, NodeKind::nvswitch).size(), 1U);
  const Path path = shortest_path(*topology, gpus[0], gpus[1]);
  EXPECT_EQ(label_of(path), "NV18");
  EXPECT_EQ(path.bandwidth, 450.0);
  EXPECT_EQ(label_of(shortest_path(*topology, gpus[0], nics[0])), "PIX");
  EXPECT_EQ(label_of(shortest_path(*topology, gpus[0], nics[1])), "PIX");
  EXPECT_EQ(label_of(shortest_path(*topology, gpus[1], nics[0])), "PHB");
  // What hangs off no known NUMA node is joined to nothing.
  EXPECT_EQ(label_of(shortest_path(*topology, gpus[0], nics[2])), "?");
  EXPECT_EQ(topology->node(nics[0]).nic()->bandwidth, 50.0);
  EXPECT_FALSE(host_path(*topology, gpus[0], gpus[1]).bandwidth) << "no speed of GPU 1 is known";
  ASSERT_EQ(topology->remarks().size(), 1U);
  EXPECT_NE(topology->remarks()[0].find("small.xml:19: "), std::string::npos);
}

TEST(NcclXml, AFileWithClassesAloneIsEnough) {
  const auto topology = read_nccl_xml(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"ffff:ff:01.0\" class=\"0x060400\">"
      "<pci busid=\"0001:00:00.0\" class=\"0x030200\"/><pci busid=\"0101:00:00.0\" "
      "class=\"0x020700\"/>"
      "</pci></cpu></system>",
      "azure.xml");
  ASSERT_TRUE(topology) << topology.error().text;
  EXPECT_EQ(topology->of(0, NodeKind::gpu).size(), 1U);
  EXPECT_EQ(topology->of(0, NodeKind::nic).size(), 1U);
}

void expect_file_error(std::string_view text, std::string_view begins, std::string_view has) {
  const auto topology = parse_topology(text, "bad.xml");
  ASSERT_FALSE(topology) << text;
  EXPECT_EQ(topology.status(), Status::invalid_argument);
  EXPECT_TRUE(topology.error().text.starts_with(begins)) << topology.error().text;
  EXPECT_NE(topology.error().text.find(has), std::string::npos) << topology.error().text;
}

TEST(NcclXml, BadFilesAreRefusedByFileLineAndRemedy) {
  expect_file_error("<graphs/>", "bad.xml:1: ", "begins with <system>");
  expect_file_error("<system/>", "bad.xml:1: ", "no <cpu>");
  expect_file_error("<system>\n<cpu numaid=\"x\"/></system>", "bad.xml:2: ", "whole number");
  expect_file_error("<system><cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/></system>",
                    "bad.xml:2: ", "second <cpu>");
  expect_file_error("<system><cpu numaid=\"0\">\n<pci busid=\"q\"/></cpu></system>",
                    "bad.xml:2: ", "write it as 0000:c1:00.0");
  std::string many = "<system>\n";
  for (int i = 0; i < 300; ++i) many += "<cpu numaid=\"" + std::to_string(i) + "\"/>";
  expect_file_error(many + "</system>", "bad.xml:2: ", "more than 256");
  const std::string gpu = "<pci busid=\"0:1:0.0\" class=\"0x030200\"><gpu dev=\"0\"/></pci>\n";
  expect_file_error("<system><cpu numaid=\"0\">" + gpu + gpu + "</cpu></system>",
                    "bad.xml:2: ", "second GPU");
  expect_file_error("<system><cpu numaid=\"0\"><nic>\n<net speed=\"fast\"/></nic></cpu></system>",
                    "bad.xml:2: ", "write a number");
  expect_file_error("<topology version=\"3.0\">", "bad.xml:1: ", "format 3");
  expect_file_error("<topology version=\"2.0\"><object/>", "bad.xml:1: ", "lstopo");
  expect_file_error("not XML at all", "bad.xml:1: ", "begins with <system>");
}

void expect_round_trip(const Topology& topology, const std::string& what) {
  const std::string text = write_nccl_xml(topology);
  const auto again = read_nccl_xml(text, what);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_TRUE(again->remarks().empty()) << again->remarks()[0];
  EXPECT_EQ(write_nccl_xml(*again), text) << what;
  for (std::uint32_t host = 0; host < topology.hosts().size(); ++host) {
    const auto before = topology.of(host, NodeKind::gpu);
    const auto after = again->of(host, NodeKind::gpu);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t j = 0; j < before.size(); ++j) {
        const Path was = shortest_path(topology, before[i], before[j]);
        const Path is = shortest_path(*again, after[i], after[j]);
        EXPECT_EQ(label_of(was), label_of(is)) << what << i << j;
        EXPECT_EQ(was.bandwidth, is.bandwidth) << what << i << j;
      }
    }
  }
}

TEST(NcclXml, WhatIsWrittenReadsTheSame) {
  for (const SyntheticModel& model : synthetic_models()) {
    const auto topology = synthetic_topology(model.name);
    ASSERT_TRUE(topology) << topology.error().text;
    expect_round_trip(*topology, std::string(model.name));
  }
  const auto small = read_nccl_xml(kSmall, "small.xml");
  ASSERT_TRUE(small);
  expect_round_trip(*small, "small");
  const auto two = synthetic_topology("2xdgx-h100+mi300x");
  ASSERT_TRUE(two);
  expect_round_trip(*two, "three hosts");
}

}  // namespace
}  // namespace gyre::topo
