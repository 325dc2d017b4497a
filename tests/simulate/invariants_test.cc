// What holds for every schedule on every machine.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tests/simulate/calls.hpp"

namespace gyre::sim {
namespace {

constexpr StepCost kStep{.fixed = 2e-7,
                         .per_message = 1e-7,
                         .reduce_per_byte = 3e-11,
                         .copy_per_byte = 2e-11,
                         .send_per_byte = 1e-11};

Hosts some_hosts() {
  Hosts hosts;
  hosts.ranks_per_host = 4;
  hosts.same_host = {.latency = 1e-6, .seconds_per_byte = 1e-11, .credit_latency = 1e-6};
  hosts.other_host = {.latency = 5e-6, .seconds_per_byte = 4e-11, .credit_latency = 5e-6};
  hosts.step = kStep;
  return hosts;
}

Hosts crowded_hosts() {
  Hosts hosts = some_hosts();
  hosts.nic_bytes_per_second = 12e9;
  hosts.memory_bytes_per_second = 60e9;
  hosts.cores = 3;
  return hosts;
}

// Calls `visit` with every schedule, some worlds, and both kinds of hosts.
template <typename Visit>
void for_all(const Visit& visit) {
  for (const CatalogueEntry& entry : catalogue()) {
    for (const std::uint32_t world : {1U, 2U, 7U, 16U}) {
      for (const Hosts& hosts : {some_hosts(), crowded_hosts()}) {
        SCOPED_TRACE(testing::Message() << entry.algorithm << " " << name_of(entry.kind) << ", "
                                        << world << " ranks, " << hosts.cores << " cores");
        visit(CallOf{entry.algorithm, entry.kind, world, 2'000'000, 64 << 10}, hosts);
      }
    }
  }
}

std::uint64_t total(const Timeline& timeline, std::uint64_t RankTimes::*what) {
  std::uint64_t sum = 0;
  for (const RankTimes& rank : timeline.ranks) sum += rank.*what;
  return sum;
}

TEST(Invariants, BytesThatAreSentAreReceived) {
  for_all([](const CallOf& call, const Hosts& hosts) {
    const Timeline timeline = timeline_of(call, machine_for(hosts, call.world));
    EXPECT_EQ(total(timeline, &RankTimes::sent_bytes), total(timeline, &RankTimes::received_bytes));
  });
}

TEST(Invariants, ARingSendsTheLeastBytes) {
  for (const std::uint32_t world : {2U, 5U, 16U}) {
    const CallOf call{"ring", CollectiveKind::all_reduce, world, 2'000'000, 64 << 10};
    const Timeline timeline = timeline_of(call, machine_for(some_hosts(), world));
    EXPECT_EQ(total(timeline, &RankTimes::sent_bytes), 2ULL * 2'000'000 * (world - 1));
  }
}

TEST(Invariants, NoLinkCarriesMoreThanItCan) {
  for_all([](const CallOf& call, const Hosts& hosts) {
    const Machine machine = machine_for(hosts, call.world);
    const Timeline timeline = timeline_of(call, machine);
    for (std::size_t i = 0; i < timeline.links.size(); ++i) {
      const double capacity = machine.fabric.links[i].capacity;
      EXPECT_LE(timeline.links[i].peak, capacity * (1 + 1e-9)) << machine.fabric.links[i].name;
      EXPECT_LE(timeline.links[i].bytes, capacity * timeline.seconds * (1 + 1e-9));
    }
  });
}

TEST(Invariants, SharedLinksCarryWhatCrossesThem) {
  const std::uint32_t world = 16;
  const CallOf call{"ring", CollectiveKind::all_reduce, world, 2'000'000, 64 << 10};
  const Timeline timeline = timeline_of(call, machine_for(crowded_hosts(), world));
  // Four hosts: their NICs' two directions first, then their memories; one rank of four goes out.
  double nics = 0, memories = 0;
  for (std::size_t i = 0; i < 8; ++i) nics += timeline.links[i].bytes;
  for (std::size_t i = 8; i < 12; ++i) memories += timeline.links[i].bytes;
  const auto sent = static_cast<double>(total(timeline, &RankTimes::sent_bytes));
  EXPECT_NEAR(nics / 2 + memories, sent, kExact * sent);
}

TEST(Invariants, TheSameCallTakesTheSameTime) {
  for_all([](CallOf call, const Hosts& hosts) {
    const Machine machine = machine_for(hosts, call.world);
    const Timeline once = timeline_of(call, machine);
    call.options.record = true;
    const Timeline again = timeline_of(call, machine);
    EXPECT_EQ(once.seconds, again.seconds) << "to the last bit";
    EXPECT_EQ(once.steps, again.steps);
    for (std::size_t rank = 0; rank < once.ranks.size(); ++rank) {
      EXPECT_EQ(once.ranks[rank].finish, again.ranks[rank].finish);
    }
  });
}

TEST(Invariants, SlowerLinksStepsAndFewerSlotsNeverHelp) {
  for (const CatalogueEntry& entry : catalogue()) {
    for (const std::uint32_t world : {2U, 7U, 16U}) {
      SCOPED_TRACE(testing::Message() << entry.algorithm << " " << name_of(entry.kind));
      CallOf call{entry.algorithm, entry.kind, world, 2'000'000, 64 << 10};
      const auto seconds = [&](const Hosts& hosts) {
        return timeline_of(call, machine_for(hosts, call.world)).seconds;
      };
      const double usual = seconds(some_hosts());
      for (double LinkCost::*slower :
           {&LinkCost::latency, &LinkCost::seconds_per_byte, &LinkCost::credit_latency}) {
        Hosts hosts = some_hosts();
        hosts.other_host.*slower *= 1.7;
        EXPECT_GE(seconds(hosts), usual);
      }
      for (double StepCost::*slower : {&StepCost::fixed, &StepCost::reduce_per_byte}) {
        Hosts hosts = some_hosts();
        hosts.step.*slower *= 1.7;
        EXPECT_GE(seconds(hosts), usual);
      }
      call.options.slots = 9;
      EXPECT_LE(seconds(some_hosts()), usual);
    }
  }
}

// A strand runs one step at a time, and no message comes before its bytes can be there.
TEST(Invariants, RecordedTimesArePossible) {
  for_all([](CallOf call, const Hosts& hosts) {
    call.options.record = true;
    const Machine machine = machine_for(hosts, call.world);
    const Timeline timeline = timeline_of(call, machine);
    EXPECT_EQ(timeline.spans.size(), timeline.steps);
    EXPECT_EQ(timeline.flights.size(), timeline.messages);
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> free_at;
    for (const StepSpan& span : timeline.spans) {
      double& free = free_at[{span.rank, span.strand}];
      EXPECT_GE(span.begin, free);
      EXPECT_GE(span.end, span.begin);
      EXPECT_LE(span.end, timeline.seconds);
      free = span.end;
    }
    for (const Flight& flight : timeline.flights) {
      const LinkCost cost = machine.link(flight.from, flight.to);
      const double least = cost.latency + static_cast<double>(flight.bytes) * cost.seconds_per_byte;
      EXPECT_GE(flight.arrived - flight.sent, least * (1 - kExact));
    }
  });
}

TEST(Message, IsCutAsThePlannerCuts) {
  const Program ring = find_schedule("ring", CollectiveKind::all_reduce)->build(0, 4, 0, 1);
  const Message message = message_of(CollectiveKind::all_reduce, 1'000'000, ring, 128 << 10);
  EXPECT_EQ(message.tiles, 2U);
  EXPECT_EQ(message.input.slice % 64, 0U);
  EXPECT_GE(message.input.slice * 4 * 2, 1'000'000U);
  const Program gather = find_schedule("ring", CollectiveKind::all_gather)->build(0, 4, 0, 1);
  const Message blocks = message_of(CollectiveKind::all_gather, 4'000, gather, 128 << 10);
  EXPECT_EQ(blocks.input.count, 1'000U);
  EXPECT_EQ(blocks.output.extent(0, 3).offset, 3'000U);
}

}  // namespace
}  // namespace gyre::sim
