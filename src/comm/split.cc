#include "comm/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "bootstrap/derive_key.hpp"

namespace gyre {

Result<SplitPlan> plan_split(Communicator& parent, int color, int key) {
  const std::array<std::int32_t, 2> mine{color, key};
  GYRE_TRY_ASSIGN(const auto rows,
                  parent.all_gather(std::as_bytes(std::span(mine)), "split colors and keys"));
  std::vector<std::tuple<int, int>> members;  // (key, parent rank)
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::array<std::int32_t, 2> theirs{};
    if (rows[rank].size() != sizeof theirs) {
      return Error{Status::internal, fmt::format("rank {} sent a malformed split", rank)};
    }
    std::memcpy(theirs.data(), rows[rank].data(), sizeof theirs);
    if (theirs[0] == color) members.emplace_back(theirs[1], static_cast<int>(rank));
  }
  const std::uint64_t sequence = parent.next_split();
  SplitPlan plan;
  if (color < 0) return plan;
  std::sort(members.begin(), members.end());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int member = std::get<1>(members[i]);
    if (member == parent.rank()) plan.rank = static_cast<int>(i);
    plan.members.push_back(member);
  }
  plan.key = derive_key(parent.key(), fmt::format("split {} color {}", sequence, color));
  return plan;
}

}  // namespace gyre
