// Puts the inputs of a check into a rank's buffers, and looks at what came out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/harness/collective.hpp"
#include "bench/harness/ranks.hpp"

namespace gyre::bench {

// Where the buffers of a rank begin for elements of `element` bytes.
struct Placement {
  bool in_place = false;
  std::size_t unalign = 0;  // bytes that -u adds
};

// Clears the result, writes the input, and (if `with_expected`) the expected result into
// rank.buffers.expected.
void prepare_data(const Collective& collective, const DataCase& data, const Placement& placement,
                  Rank& rank, bool with_expected);

// Elements of the result that are wrong.
std::int64_t check_data(const DataCase& data, const Placement& placement, Rank& rank);

// Writes every byte of all buffers once, so that no page fault and no shared zero page is measured,
// and -M knows what they take. Host ranks only; by the thread that will use them.
void touch_buffers(Rank& rank);

}  // namespace gyre::bench
