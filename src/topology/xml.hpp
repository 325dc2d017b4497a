// A small, bounded reader of XML elements and attributes: what topology files consist of. It keeps
// no text between elements and knows no namespaces, entities of one's own or includes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace gyre::topo {

struct XmlElement {
  std::string name;
  int line = 0;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;

  const std::string* attribute(std::string_view wanted) const;
};

struct XmlLimits {
  std::size_t bytes = 64 << 20;
  std::size_t elements = 1 << 20;
  std::size_t attributes = 64;  // of one element
  std::size_t name = 64;
  std::size_t value = 4096;
  int depth = 64;
};

// The root element of `text`. Errors begin with "<file>:<line>: ".
Result<XmlElement> parse_xml(std::string_view text, std::string_view file,
                             const XmlLimits& limits = {});

// `text` with &, <, >, " and control bytes replaced, to stand between double quotes.
std::string xml_escaped(std::string_view text);

}  // namespace gyre::topo
