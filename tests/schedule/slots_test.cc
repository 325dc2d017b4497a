// The lowest number of slots that GYRE_SLOTS takes is enough for every schedule there is.
#include <gtest/gtest.h>

#include <array>

#include "base/settings.hpp"
#include "collectives/catalogue.hpp"

namespace gyre {
namespace {

bool accepted(std::uint32_t slots) {
  const std::array<NamedValue, 1> environment = {NamedValue{"GYRE_SLOTS", std::to_string(slots)}};
  return static_cast<bool>(parse_settings(environment));
}

TEST(Slots, TheLeastThatIsAcceptedSufficesForEverySchedule) {
  std::uint32_t lowest = 0;
  while (lowest < 1000 && !accepted(lowest)) ++lowest;
  ASSERT_TRUE(accepted(lowest));
  ASSERT_FALSE(catalogue().empty());
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_LE(entry.min_slots, lowest) << entry.algorithm << " " << name_of(entry.kind);
  }
}

TEST(Slots, TheDefaultIsAccepted) {
  EXPECT_TRUE(accepted(static_cast<std::uint32_t>(Settings{}.slots)));
}

}  // namespace
}  // namespace gyre
