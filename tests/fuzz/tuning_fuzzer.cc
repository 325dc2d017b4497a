// GYRE_TUNING_FILE, and the plan that rank 0 sends: any bytes are read or refused, and what is read
// is written and read again as it was.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plan/choices.hpp"
#include "plan/tuning_table.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gyre;
  using gyre::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto table = TuningTable::parse(text, "input")) {
    const auto again = TuningTable::parse(table->text(), "output");
    require(again && again->rows().size() == table->rows().size());
  }
  if (const auto choices = decode_choices(std::as_bytes(std::span(data, size)))) {
    const auto again = decode_choices(encode(*choices));
    require(again && *again == *choices);
  }
  return 0;
}
