// Values of options, and what CLI11 does not check of them.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

namespace gyre::tools {

// CLI::Range lets NaN through, which is neither below nor above anything.
inline std::string refuse_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? fmt::format("'{}' is no number", text)
                                                        : std::string();
}

// An option whose text `parse` reads into `value`; `example` shows what is good.
template <typename Value, typename Parse>
CLI::Option* add_value(CLI::App* app, const std::string& name, Value& value, const Parse& parse,
                       const std::string& example, const std::string& help) {
  return app
      ->add_option_function<std::string>(
          name,
          [&value, parse, example, name](const std::string& text) {
            const auto parsed = parse(text);
            if (!parsed) {
              throw CLI::ValidationError(
                  fmt::format("{}: '{}' is not a value such as {}", name, text, example));
            }
            value = static_cast<Value>(*parsed);
          },
          help)
      ->type_name(example);
}

}  // namespace gyre::tools
