// Texts that users write: configuration files and settings, URLs, host:port, interface patterns,
// node lists, launchers' variables.
#include <map>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/parse_value.hpp"
#include "base/settings.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/world_url.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

namespace {

using gyre::fuzz::require;

void check_settings(std::string_view text) {
  const std::vector<gyre::NamedValue> values = gyre::parse_configuration(text);
  if (const auto settings = gyre::parse_settings(std::span<const gyre::NamedValue>(values))) {
    require(settings->slots >= 2 && settings->slots <= 64);
    require(settings->slot_bytes >= 4096 && settings->slot_bytes % 4096 == 0);
    require(settings->min_channels <= settings->max_channels);
    require(settings->init_timeout_ms > 0 && settings->timeout_ms >= 0);
  } else {
    require(!settings.error().text.empty());
  }
}

void check_values(std::string_view text) {
  if (const auto bytes = gyre::parse_bytes(text); bytes && *bytes >= 0) {
    require(gyre::parse_bytes(gyre::text_of_bytes(*bytes)) == bytes);
  }
  const auto milliseconds = gyre::parse_milliseconds(text);
  require(!milliseconds || *milliseconds >= 0);
  if (const auto target = gyre::parse_host_port(text)) require(target->port != 0);
  if (const auto url = gyre::parse_world_url(text)) {
    require(url->kind == gyre::WorldUrl::Kind::launcher || !url->place.empty());
  }
  require(gyre::interface_matches(std::string(1, '^') + std::string(text), "eth0") !=
              gyre::interface_matches(text, "eth0") ||
          text.starts_with('^'));
  require(gyre::first_host(text).size() <= text.size());
}

void check_launch(std::string_view text) {
  std::map<std::string, std::string, std::less<>> variables;
  for (auto& [name, value] : gyre::parse_configuration(text)) variables.emplace(name, value);
  const gyre::Environment environment = [&](std::string_view name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto launch = gyre::read_launch(environment, "1 2")) {
    require(launch->rank >= 0 && launch->rank < launch->world);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = gyre::fuzz::text(data, size);
  check_settings(text);
  check_values(text);
  check_launch(text);
  return 0;
}
