// Pieces of SVG text.
#pragma once

#include <string>
#include <string_view>

namespace gyre::tools {

// Without markup.
std::string escaped(std::string_view text);

// `anchor` is start, middle or end; `more` are further attributes, with a space before each.
std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "");

// A straight line of that class.
std::string rule(double x1, double y1, double x2, double y2, std::string_view kind);

// The picture's frame; `style` is CSS.
std::string svg_document(double width, double height, std::string_view style,
                         std::string_view content);

}  // namespace gyre::tools
