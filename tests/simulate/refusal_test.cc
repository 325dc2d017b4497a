// What cannot be simulated is refused, with what to do about it.
#include <limits>
#include <string>

#include "schedule/builder.hpp"
#include "tests/simulate/calls.hpp"

namespace gyre::sim {
namespace {

std::string text_of(const Result<Timeline>& result) {
  if (result) return "";
  EXPECT_EQ(result.error().status, Status::invalid_argument);
  return result.error().text;
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
}

const Machine kMachine = uniform({.latency = 1e-6, .seconds_per_byte = 1e-9});

TEST(Refusals, ADeadlockNamesWhoWaitsForWhom) {
  CallOf call{"ring", CollectiveKind::all_reduce, 4, 1000};
  call.options.slots = 1;
  const std::string text = text_of(try_simulate(call, kMachine));
  expect_part(text, "deadlock with 1 tiles and 1 slots");
  expect_part(text, "rank 2 (tile 0) waits for a slot to 3");
  expect_part(text, "more slots");
}

TEST(Refusals, MessagesNobodyTakes) {
  const auto program = [](std::uint32_t rank) {
    Builder builder(rank, 2);
    return builder.loop(1, copy(In{0}, Out{0}))
        .loop(rank == 0 ? 2 : 0, send(In{0}, To{1}))
        .program();
  };
  const Message message = message_in_one_tile(CollectiveKind::message, 8, program(0));
  expect_part(text_of(simulate(program, 2, kMachine, message)),
              "rank 1 does not take 2 messages of rank 0");
}

TEST(Refusals, ValuesWithoutATime) {
  const CallOf call{"ring", CollectiveKind::all_reduce, 4, 1000};
  expect_part(text_of(try_simulate(call, uniform({.latency = -1}))), "a link's latency is -1");
  const double infinite = std::numeric_limits<double>::infinity();
  expect_part(text_of(try_simulate(call, uniform({}, {.fixed = infinite}))), "a step's fixed time");
  Machine machine = kMachine;
  machine.fabric.links = {{"spine", 0}};
  expect_part(text_of(try_simulate(call, machine)), "link \"spine\" is 0");
  Hosts hosts;
  hosts.cores = -2;
  EXPECT_FALSE(machine_of(hosts, 4));
}

TEST(Refusals, RoutesOverLinksThatAreNotThere) {
  Machine machine = kMachine;
  machine.fabric.links = {{"bus", 1e9}};
  machine.fabric.route = [](std::uint32_t, std::uint32_t, std::vector<std::uint32_t>& route) {
    route.push_back(1);
  };
  expect_part(text_of(try_simulate({"ring", CollectiveKind::all_reduce, 4, 1000}, machine)),
              "the route from rank 0 to 1 names a link");
}

TEST(Refusals, ProgramsThatDoNotFitTheCall) {
  const auto& ring = *find_schedule("ring", CollectiveKind::all_reduce);
  const auto of = [&](std::uint32_t world) {
    return [&ring, world](std::uint32_t rank) { return ring.build(rank, world, 0, 1); };
  };
  const Message message = message_in_one_tile(ring.kind, 1000, ring.build(0, 4, 0, 1));
  expect_part(text_of(simulate(of(5), 4, kMachine, message)), "rank 0 of 5");
  expect_part(text_of(simulate(of(5), 5, kMachine, message)), "cut into 4 and 4 chunks");
  expect_part(text_of(simulate([](std::uint32_t) { return Program{}; }, 1, kMachine, message)),
              "message is cut");
  expect_part(text_of(simulate(of(4), 0, kMachine, message)), "no ranks");
  expect_part(text_of(simulate(of(4), 4, kMachine, message, {.slots = 0})), "0 slots");
  expect_part(text_of(simulate(of(4), 4, Machine{}, message)), "Machine::link");
}

TEST(Refusals, MoreLanesThanMemoryIsMeantFor) {
  expect_part(text_of(try_simulate({"one_shot", CollectiveKind::all_reduce, 6000, 1000}, kMachine)),
              "fewer ranks");
}

}  // namespace
}  // namespace gyre::sim
