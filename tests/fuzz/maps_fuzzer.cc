// The text of /proc/self/maps, which holds names that users choose.
#include "base/maps.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

namespace {

using gyre::fuzz::require;

void check_line(std::string_view text) {
  const auto line = gyre::parse_maps_line(text);
  if (!line) return;
  require(line->begin < line->end);
  require(line->offset + (line->end - line->begin) >= line->offset);
  require(line->name.empty() || line->name.front() != ' ');
  require(line->name.size() < text.size());
}

void check_search(std::string_view text, std::uint64_t begin, std::uint64_t bytes) {
  const auto found = gyre::find_shared_file(text, begin, bytes);
  if (!found) return;
  require(found->shared && found->writable && found->inode != 0);
  require(found->begin <= begin && begin < found->end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = gyre::fuzz::text(data, size);
  check_line(text);
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{0x3000}, ~std::uint64_t{0}}) {
    check_search(text, 0x3000, bytes);
    if (const auto line = gyre::parse_maps_line(text)) check_search(text, line->begin, bytes);
  }
  return 0;
}
