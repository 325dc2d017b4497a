#include "tools/gyre/settings_command.hpp"

#include <fmt/format.h>

#include <string_view>

namespace gyre::tools {
namespace {

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

}  // namespace

std::string settings_text(std::span<const SettingRow> rows) {
  std::string text;
  for (const SettingRow& row : rows) {
    text += fmt::format("{}\n    {}\n    {}{}{}; default: {}{}\n", row.name, row.help, row.type,
                        row.range.empty() ? "" : ", ", row.range,
                        row.fallback.empty() ? "none" : row.fallback,
                        row.must_agree ? "; the same on every rank" : "");
  }
  return text;
}

std::string settings_markdown(std::span<const SettingRow> rows) {
  std::string page =
      "# Settings\n\n"
      "Environment variables, read once per process. A bad value, and a `GYRE_` name that is not\n"
      "here, is refused by name. Generated from the table in `settings.cc` by\n"
      "`gyre settings --markdown`.\n\n"
      "| Name | Type | Default | Values | Same on every rank | Meaning |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const SettingRow& row : rows) {
    page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(row.name), escape(row.type),
                        code(row.fallback), escape(row.range), row.must_agree ? "yes" : "",
                        escape(row.help));
  }
  return page;
}

}  // namespace gyre::tools
