#include "tests/fault/outcome.hpp"

#include <utility>

#include "tests/fault/puppet.hpp"

namespace gyre::test {

Outcome outcome_of(ncclResult_t code) {
  return {code, code == ncclSuccess ? "" : ncclGetLastError(nullptr)};
}

Outcome wrong(std::string text) { return {kWrong, std::move(text)}; }

std::string hex(const ncclUniqueId& id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : id.internal) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

ncclUniqueId unhex(const std::string& text) {
  ncclUniqueId id{};
  for (std::size_t i = 0; i < sizeof id && 2 * i + 1 < text.size(); ++i) {
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

}  // namespace gyre::test
