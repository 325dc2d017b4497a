#include "topology/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace gyre::topo {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == ':' || c == '.';
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, const XmlLimits& limits)
      : rest_(text), file_(file), limits_(limits) {}

  Result<XmlElement> document() {
    if (rest_.size() > limits_.bytes) {
      return wrong(fmt::format("the file has more than {} bytes", limits_.bytes));
    }
    GYRE_TRY(skip_between());
    if (rest_.empty())
      return wrong("no element; a topology file begins with <system> or <topology>");
    GYRE_TRY_ASSIGN(XmlElement root, element(0));
    GYRE_TRY(skip_between());
    if (!rest_.empty()) return wrong("something follows the end of the first element");
    return root;
  }

 private:
  Error wrong(std::string_view what) const {
    return {Status::invalid_argument, fmt::format("{}:{}: {}", file_, line_, what)};
  }

  void take(std::size_t count) {
    line_ +=
        static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<long>(count), '\n'));
    rest_.remove_prefix(count);
  }
  void skip_space() {
    std::size_t count = 0;
    while (count < rest_.size() && is_space(rest_[count])) ++count;
    take(count);
  }
  Result<void> skip_past(std::string_view end, std::string_view what) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return wrong(fmt::format("{} never ends", what));
    take(at + end.size());
    return {};
  }

  // White space, comments, declarations and, as it says nothing here, text.
  Result<void> skip_between() {
    while (true) {
      const std::size_t text = std::min(rest_.find('<'), rest_.size());
      take(text);
      if (rest_.starts_with("<!--")) {
        GYRE_TRY(skip_past("-->", "a comment"));
      } else if (rest_.starts_with("<?")) {
        GYRE_TRY(skip_past("?>", "a declaration"));
      } else if (rest_.starts_with("<!")) {
        GYRE_TRY(skip_past(">", "a declaration"));
      } else {
        return {};
      }
    }
  }

  Result<std::string> name() {
    std::size_t size = 0;
    while (size < rest_.size() && is_name(rest_[size])) ++size;
    if (size == 0) return wrong("a name is missing");
    if (size > limits_.name) return wrong(fmt::format("a name of {} letters", size));
    std::string text(rest_.substr(0, size));
    take(size);
    return text;
  }

  // One "&...;" at the front of `text`, cut off it; none if it is not known.
  static std::optional<char> entity(std::string_view& text) {
    constexpr std::array<std::pair<std::string_view, char>, 5> kKnown = {
        {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    for (const auto& [name, letter] : kKnown) {
      if (text.starts_with(name)) {
        text.remove_prefix(name.size());
        return letter;
      }
    }
    const std::size_t end = text.find(';');
    if (!text.starts_with("&#x") || end == std::string_view::npos) return std::nullopt;
    std::uint8_t code = 0;
    const char* last = text.data() + end;
    const auto [stop, error] = std::from_chars(text.data() + 3, last, code, 16);
    if (error != std::errc() || stop != last || code >= 0x80) return std::nullopt;
    text.remove_prefix(end + 1);
    return static_cast<char>(code);
  }

  Result<std::string> value() {
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '"' && quote != '\'') return wrong("a value must stand in quotes");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return wrong("a value's closing quote is missing");
    if (end > limits_.value) return wrong(fmt::format("a value of {} bytes", end));
    std::string_view raw = rest_.substr(1, end - 1);
    std::string text;
    while (!raw.empty()) {
      if (raw.front() == '<') return wrong("a value with a \"<\": its closing quote is missing");
      if (raw.front() == '&') {
        const auto letter = entity(raw);
        if (!letter) return wrong("an unknown \"&...;\"; write &amp; for &");
        text += *letter;
      } else {
        text += raw.front();
        raw.remove_prefix(1);
      }
    }
    take(end + 1);
    return text;
  }

  Result<void> attribute(XmlElement& element) {
    GYRE_TRY_ASSIGN(std::string key, name());
    skip_space();
    if (!rest_.starts_with('=')) {
      return wrong(fmt::format("<{}>: \"=\" and a value must follow {}", element.name, key));
    }
    take(1);
    skip_space();
    GYRE_TRY_ASSIGN(std::string text, value());
    if (element.attribute(key) != nullptr) {
      return wrong(fmt::format("<{}> has two values for {}", element.name, key));
    }
    if (element.attributes.size() == limits_.attributes) {
      return wrong(
          fmt::format("<{}> has more than {} attributes", element.name, limits_.attributes));
    }
    element.attributes.emplace_back(std::move(key), std::move(text));
    return {};
  }

  // At "<". Recursion is as deep as the elements, which the limits bound.
  Result<XmlElement> element(int depth) {
    if (depth >= limits_.depth) {
      return wrong(fmt::format("elements are nested more than {} deep", limits_.depth));
    }
    if (++elements_ > limits_.elements) {
      return wrong(fmt::format("more than {} elements", limits_.elements));
    }
    XmlElement made;
    made.line = line_;
    take(1);
    GYRE_TRY_ASSIGN(made.name, name());
    while (true) {
      skip_space();
      if (rest_.starts_with("/>")) {
        take(2);
        return made;
      }
      if (rest_.starts_with('>')) break;
      if (rest_.empty()) return wrong(fmt::format("<{}> never ends", made.name));
      GYRE_TRY(attribute(made));
    }
    take(1);
    GYRE_TRY(children(made, depth));
    return made;
  }

  Result<void> children(XmlElement& parent, int depth) {
    while (true) {
      GYRE_TRY(skip_between());
      if (rest_.empty()) {
        return wrong(fmt::format("the end of <{}> of line {} is missing: the file is cut off",
                                 parent.name, parent.line));
      }
      if (rest_.starts_with("</")) break;
      GYRE_TRY_ASSIGN(XmlElement child, element(depth + 1));
      parent.children.push_back(std::move(child));
    }
    take(2);
    GYRE_TRY_ASSIGN(const std::string closed, name());
    skip_space();
    if (closed != parent.name || !rest_.starts_with('>')) {
      return wrong(
          fmt::format("</{}> where </{}> of line {} must stand", closed, parent.name, parent.line));
    }
    take(1);
    return {};
  }

  std::string_view rest_;
  std::string_view file_;
  const XmlLimits& limits_;
  int line_ = 1;
  std::size_t elements_ = 0;
};

}  // namespace

const std::string* XmlElement::attribute(std::string_view wanted) const {
  for (const auto& [key, value] : attributes) {
    if (key == wanted) return &value;
  }
  return nullptr;
}

Result<XmlElement> parse_xml(std::string_view text, std::string_view file,
                             const XmlLimits& limits) {
  return Parser(text, file, limits).document();
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      escaped += fmt::format("&#x{:x};", static_cast<unsigned>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace gyre::topo
