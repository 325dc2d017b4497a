#include "tests/fault/calls.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/fault/observe.hpp"

namespace gyre::test {
namespace {

using Clock = std::chrono::steady_clock;

float input_of(int rank, std::size_t index) {
  return static_cast<float>(rank + 1) + static_cast<float>(index % 7);
}

Outcome check_sum(const std::vector<float>& values, int world) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float right = static_cast<float>(world * (world + 1) / 2) +
                        static_cast<float>(world) * static_cast<float>(i % 7);
    if (values[i] != right) {
      return wrong("element " + std::to_string(i) + " is " + std::to_string(values[i]) +
                   " and not " + std::to_string(right));
    }
  }
  return {};
}

ncclResult_t issue(const CallWords& call, const void* in, void* out, ncclComm_t comm) {
  const auto& [name, count, type, op, root] = call;
  if (name == "all_reduce") return ncclAllReduce(in, out, count, type, op, comm, nullptr);
  if (name == "reduce") return ncclReduce(in, out, count, type, op, root, comm, nullptr);
  if (name == "broadcast") return ncclBroadcast(in, out, count, type, root, comm, nullptr);
  if (name == "all_gather") return ncclAllGather(in, out, count, type, comm, nullptr);
  if (name == "reduce_scatter") return ncclReduceScatter(in, out, count, type, op, comm, nullptr);
  if (name == "all_to_all") return ncclAlltoAll(in, out, count, type, comm, nullptr);
  if (name == "gather") return ncclGather(in, out, count, type, root, comm, nullptr);
  if (name == "scatter") return ncclScatter(in, out, count, type, root, comm, nullptr);
  return ncclInvalidArgument;
}

}  // namespace

Outcome settle(ncclComm_t comm) {
  const Clock::time_point until = Clock::now() + kPatience;
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
    if (asked != ncclSuccess) return outcome_of(asked);
    if (Clock::now() > until) return wrong("still in progress");
    std::this_thread::yield();
  }
  return {state, state == ncclSuccess ? "" : "asynchronous error"};
}

Outcome all_reduce(ncclComm_t comm, std::size_t count) {
  int rank = 0;
  int world = 0;
  ncclResult_t asked = ncclCommUserRank(comm, &rank);
  if (asked == ncclSuccess) asked = ncclCommCount(comm, &world);
  if (asked != ncclSuccess) return outcome_of(asked);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = input_of(rank, i);
  const ncclResult_t code = [&] {
    const InCall marked;
    return ncclAllReduce(values.data(), values.data(), count, ncclFloat32, ncclSum, comm, nullptr);
  }();
  if (code == ncclInProgress) {
    const Outcome settled = settle(comm);
    if (settled.code != 0) return settled;
  } else if (code != ncclSuccess) {
    return outcome_of(code);
  }
  return check_sum(values, world);
}

Outcome pass_on(ncclComm_t comm, int rank, int world, std::size_t count) {
  std::vector<float> out(count, static_cast<float>(rank));
  std::vector<float> in(count, -1);
  const int before = (rank + world - 1) % world;
  ncclGroupStart();
  ncclSend(out.data(), count, ncclFloat32, (rank + 1) % world, comm, nullptr);
  ncclRecv(in.data(), count, ncclFloat32, before, comm, nullptr);
  const ncclResult_t code = ncclGroupEnd();
  if (code != ncclSuccess) return outcome_of(code);
  const bool right = std::all_of(in.begin(), in.end(),
                                 [&](float value) { return value == static_cast<float>(before); });
  return right ? Outcome{} : wrong("the message is not the sender's");
}

CallWords parse_call(std::istream& words) {
  static const std::map<std::string, ncclDataType_t> types = {
      {"int8", ncclInt8}, {"int32", ncclInt32}, {"float32", ncclFloat32}, {"float64", ncclFloat64}};
  static const std::map<std::string, ncclRedOp_t> ops = {
      {"sum", ncclSum}, {"max", ncclMax}, {"avg", ncclAvg}};
  CallWords call;
  std::string type;
  std::string op;
  words >> call.collective >> call.count >> type >> op >> call.root;
  call.type = types.at(type);
  call.op = ops.at(op);
  return call;
}

Outcome call_untouched(ncclComm_t comm, const CallWords& call, int world) {
  constexpr std::size_t kLargestElement = 8;
  constexpr std::byte kUntouched{0xa5};
  const std::size_t bytes = call.count * static_cast<std::size_t>(world) * kLargestElement + 1;
  const std::vector<std::byte> input(bytes);
  std::vector<std::byte> output(bytes, kUntouched);
  const Outcome outcome = outcome_of(issue(call, input.data(), output.data(), comm));
  const bool touched =
      std::any_of(output.begin(), output.end(), [&](std::byte byte) { return byte != kUntouched; });
  return outcome.code != 0 && touched ? wrong("wrote although: " + outcome.text) : outcome;
}

}  // namespace gyre::test
