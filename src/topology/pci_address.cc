#include "topology/pci_address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace gyre::topo {
namespace {

std::optional<std::uint32_t> hex(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > most) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::string pci_address(std::string_view text) {
  constexpr std::size_t kLongest = 16;  // 32 bits of domain, as libraries print them
  const std::size_t dot = text.rfind('.');
  const std::size_t colon = text.rfind(':');
  if (text.size() > kLongest || dot == std::string_view::npos || colon == std::string_view::npos ||
      colon > dot) {
    return {};
  }
  const std::size_t first = text.find(':');
  const bool with_domain = first != colon;
  const auto domain = with_domain ? hex(text.substr(0, first), ~0U) : 0U;
  const std::size_t from = with_domain ? first + 1 : 0;
  const auto bus = hex(text.substr(from, colon - from), 0xff);
  const auto device = hex(text.substr(colon + 1, dot - colon - 1), 0x1f);
  const auto function = hex(text.substr(dot + 1), 0xff);
  if (!domain || !bus || !device || !function) return {};
  return pci_address(*domain, *bus, *device, *function);
}

std::string pci_address(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                        std::uint32_t function) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

}  // namespace gyre::topo
