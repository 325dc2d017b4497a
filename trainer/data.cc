#include "trainer/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "trainer/random.hpp"

namespace gyre::train {

Text Text::read(const std::string& path, std::size_t context) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::string text = fmt::format("cannot read {}: {}", path, std::strerror(errno));
    if (path == kDefaultText) {
      text += fmt::format("; install it with: apt-get install {}, or name another text with --data",
                          kDefaultTextPackage);
    }
    throw std::runtime_error(text);
  }
  std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  try {
    return Text(std::move(bytes), context);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
  }
}

Text::Text(std::vector<std::uint8_t> bytes, std::size_t context)
    : bytes_(std::move(bytes)), context_(context), training_size_(bytes_.size() / 20 * 19) {
  const std::size_t held_out = bytes_.size() - training_size_;
  if (std::min(held_out, training_size_) <= context) {
    throw std::runtime_error(
        fmt::format("a text of {} bytes is too short: with --context {} at least {} are needed",
                    bytes_.size(), context, 20 * (context + 1)));
  }
}

void Text::copy(std::size_t offset, std::uint8_t* inputs, std::uint8_t* targets) const {
  std::copy_n(bytes_.data() + offset, context_, inputs);
  std::copy_n(bytes_.data() + offset + 1, context_, targets);
}

void Text::training_sequence(std::uint64_t seed, std::uint64_t step, std::uint64_t index,
                             std::uint8_t* inputs, std::uint8_t* targets) const {
  const std::uint64_t random = mix(mix(mix(seed) ^ step) ^ index);
  copy(random % (training_size_ - context_), inputs, targets);
}

void Text::held_out_sequence(std::size_t index, std::size_t count, std::uint8_t* inputs,
                             std::uint8_t* targets) const {
  const std::size_t room = bytes_.size() - training_size_ - context_;
  copy(training_size_ + index * room / count, inputs, targets);
}

}  // namespace gyre::train
