#include "bench/harness/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "bench/harness/periodic.hpp"
#include "bench/harness/random.hpp"

namespace gyre::bench {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

void fill_words(std::byte* to, std::uint64_t key, std::size_t first, std::size_t count) {
  fill_periodic(to, first, count, kWord,
                [key](std::byte* part, std::size_t from, std::size_t words) {
                  for (std::size_t i = 0; i < words; ++i) {
                    const std::uint64_t word = mix(key + (from + i) * kGolden);
                    std::memcpy(part + i * kWord, &word, kWord);
                  }
                });
}

// Part of one word.
void fill_some(std::span<std::byte> to, std::uint64_t key, std::size_t word, std::size_t skip) {
  std::byte bytes[kWord];
  fill_words(bytes, key, word, 1);
  std::copy_n(bytes + skip, to.size(), to.begin());
}

}  // namespace

void fill_random(std::span<std::byte> to, std::uint64_t seed, std::uint64_t stream,
                 std::uint64_t offset) {
  const std::uint64_t key = random_at(seed, stream);
  const std::size_t head = std::min<std::size_t>((kWord - offset % kWord) % kWord, to.size());
  if (head > 0) fill_some(to.first(head), key, offset / kWord, offset % kWord);
  const std::size_t word = (offset + head) / kWord;
  const std::size_t words = (to.size() - head) / kWord;
  fill_words(to.data() + head, key, word, words);
  const std::span<std::byte> tail = to.subspan(head + words * kWord);
  if (!tail.empty()) fill_some(tail, key, word + words, 0);
}

}  // namespace gyre::bench
