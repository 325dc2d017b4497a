#include "bootstrap/world_url.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse_value.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/messages.hpp"

namespace gyre {
namespace {

Error refuse(std::string_view url, std::string_view why) {
  return {Status::invalid_argument,
          fmt::format("\"{}\": {}; allowed are env://, tcp://host:port?rank=R&world=N and "
                      "file:///absolute/folder?rank=R&world=N",
                      url, why)};
}

bool store(std::string_view item, std::string_view name, std::int64_t min, int& value) {
  if (!item.starts_with(name)) return false;
  const auto number = parse_integer(item.substr(name.size()));
  if (!number || *number < min || *number > kMaxWorld) return false;
  value = static_cast<int>(*number);
  return true;
}

}  // namespace

Result<WorldUrl> parse_world_url(std::string_view url) {
  WorldUrl result;
  std::string_view rest = url.substr(0, url.find('?'));
  std::string_view query = url.substr(std::min(rest.size() + 1, url.size()));
  if (rest.starts_with("env://")) {
    rest.remove_prefix(6);
    if (!rest.empty()) return refuse(url, "env:// takes nothing behind it");
  } else if (rest.starts_with("tcp://")) {
    result.kind = WorldUrl::Kind::tcp;
    result.place = rest.substr(6);
    if (!parse_host_port(result.place)) return refuse(url, "no host:port");
  } else if (rest.starts_with("file://")) {
    result.kind = WorldUrl::Kind::file;
    result.place = rest.substr(7);
    if (!result.place.starts_with('/')) return refuse(url, "no absolute folder");
  } else {
    return refuse(url, "unknown form");
  }
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(item.size() + 1, query.size()));
    if (!store(item, "rank=", 0, result.rank) && !store(item, "world=", 1, result.world)) {
      return refuse(url, fmt::format("\"{}\" is neither rank=R nor world=N", item));
    }
  }
  return result;
}

}  // namespace gyre
