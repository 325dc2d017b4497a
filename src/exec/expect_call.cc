#include "exec/expect_call.hpp"

#include <fmt/format.h>

#include "exec/describe.hpp"

namespace gyre {

Error call_mismatch(const SlotHeader& header, const ExpectedSlot& expected, std::uint32_t peer,
                    std::uint32_t rank) {
  return {Status::invalid_usage,
          fmt::format("ranks disagree about a call: rank {} is in {}, rank {} sent {}; every rank "
                      "must issue the same calls with the same count, type, operation and root",
                      rank, describe(expected.tag, expected.stamp), peer,
                      describe(CallTag{header.call}, CallStamp{header.count}))};
}

}  // namespace gyre
