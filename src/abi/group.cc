#include "abi/group.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/contain.hpp"

namespace gyre::abi {
namespace {

// The calls of one communicator on a device, and the streams they name, the first one first.
struct DeviceShare {
  std::shared_ptr<Communicator> comm;
  std::vector<Call> calls;
  std::vector<gyreStream_t> streams;
};

struct Group {
  std::optional<Error> error;
  std::vector<Share> shares;
  std::vector<DeviceShare> device_shares;
  std::vector<Opening> openings;
  std::vector<Derivation> derivations;
  std::vector<std::vector<Call>> spare;  // the memory of earlier groups' calls

  void clear() {
    error.reset();
    derivations.clear();
    openings.clear();
    for (Share& share : shares) {
      share.calls.clear();
      if (spare.size() < spare.capacity()) spare.push_back(std::move(share.calls));
    }
    shares.clear();
    device_shares.clear();
  }
  std::vector<Call> no_calls() {
    spare.reserve(shares.size() + 1);
    if (spare.empty()) return {};
    std::vector<Call> calls = std::move(spare.back());
    spare.pop_back();
    return calls;
  }
};

thread_local Group group;
// How many groups are open within each other. Apart from the rest, whose first use on a thread
// makes it: every call asks for this.
constinit thread_local int depth = 0;

Result<HostStream*> stream_of(void* stream) {
  if (stream == nullptr) return static_cast<HostStream*>(nullptr);
  if (HostStream* found = HostStream::from(stream)) return found;
  return Error{Status::invalid_argument,
               "the stream is no host stream (gyreStreamCreate), and this rank has no device; pass "
               "NULL for a call that ends when it returns"};
}

Result<void> refuse(Opening& opening, const Error& error) {
  Result<void> result = opening.refuse(error);
  opening.discard();
  return result;
}

Result<void> open_one(Opening& opening) {
  if (!opening.comm->options().blocking) {
    const Result<void> started = opening.comm->open_in_background(opening.open);
    if (!started) return refuse(opening, started.error());
    opening.deliver();
    return Error{Status::in_progress, "the communicator is opening"};
  }
  Result<void> result = opening.open();
  if (result) {
    opening.deliver();
  } else {
    opening.discard();
  }
  return result;
}

Result<void> derive_one(Derivation& derivation) {
  if (derivation.parent->options().blocking) return derivation.run();
  derivation.parent->derive_in_background(std::move(derivation.run));
  return Error{Status::in_progress, "the communicator is being derived"};
}

// Runs `work` on a new thread that leaves its result in `result`. An error: there is no thread.
template <typename Work>
Result<void> start_thread(std::vector<std::jthread>& threads, Result<void>& result, Work work) {
  return contained("starting a thread for a group", [&]() -> Result<void> {
    threads.emplace_back(
        [&result, work] { result = contained("a thread of a group", [&] { return work(); }); });
    return {};
  });
}

// What is derived from one parent is derived in issue order, as on all its other ranks.
Result<void> derive_in_order(std::vector<Derivation>& all, const Communicator* parent) {
  Result<void> first;
  for (Derivation& derivation : all) {
    if (derivation.parent.get() != parent) continue;
    Result<void> result = derive_one(derivation);
    if (first || first.status() == Status::in_progress) first = std::move(result);
  }
  return first;
}

std::vector<const Communicator*> parents_of(const std::vector<Derivation>& derivations) {
  std::vector<const Communicator*> parents;
  for (const Derivation& derivation : derivations) {
    const Communicator* parent = derivation.parent.get();
    if (std::find(parents.begin(), parents.end(), parent) == parents.end()) {
      parents.push_back(parent);
    }
  }
  return parents;
}

// Ranks of one communicator wait for each other, so each opening needs a thread of its own, and so
// does each parent.
Result<void> open_all(std::vector<Opening> openings, std::vector<Derivation> derivations) {
  const std::vector<const Communicator*> parents = parents_of(derivations);
  std::vector<Result<void>> results(openings.size() + parents.size());
  {
    std::vector<std::jthread> threads;
    auto result = results.begin();
    for (Opening& opening : openings) {
      const auto started = start_thread(threads, *result, [&] { return open_one(opening); });
      if (!started) *result = refuse(opening, started.error());
      ++result;
    }
    for (const Communicator* parent : parents) {
      const auto started = start_thread(
          threads, *result, [&, parent] { return derive_in_order(derivations, parent); });
      if (!started) *result = started;
      ++result;
    }
  }
  Result<void> first;
  for (Result<void>& result : results) {
    if (result) continue;
    // A real error counts more than "in progress".
    if (first || first.status() == Status::in_progress) first = std::move(result);
  }
  return first;
}

Result<void> check_mix(const Group& work) {
  const bool used = !work.shares.empty() || !work.device_shares.empty();
  if ((!work.openings.empty() || !work.derivations.empty()) && used) {
    return Error{Status::invalid_usage,
                 "communicators are created and used in one group; use two groups"};
  }
  const auto blocking = [](const auto& one) { return one.comm->options().blocking; };
  const auto mixed = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(), blocking) &&
           !std::all_of(list.begin(), list.end(), blocking);
  };
  const auto parent_blocks = [](const Derivation& one) { return one.parent->options().blocking; };
  const auto& derived = work.derivations;
  const bool mixed_parents = std::any_of(derived.begin(), derived.end(), parent_blocks) &&
                             !std::all_of(derived.begin(), derived.end(), parent_blocks);
  if (mixed(work.shares) || mixed(work.device_shares) || mixed(work.openings) || mixed_parents) {
    return Error{Status::invalid_argument,
                 "blocking and non-blocking communicators are mixed in one group"};
  }
  return {};
}

void add_to_share(std::shared_ptr<Communicator> comm, const Call& call, HostStream* stream) {
  const auto found = std::find_if(group.shares.begin(), group.shares.end(),
                                  [&](const Share& share) { return share.comm == comm; });
  if (found == group.shares.end()) {
    group.shares.push_back({.comm = std::move(comm), .calls = group.no_calls(), .stream = stream});
    group.shares.back().calls.push_back(call);
    return;
  }
  found->calls.push_back(call);
  found->awaited = found->awaited || (stream == nullptr) != (found->stream == nullptr);
  if (stream != nullptr && found->stream == nullptr) {
    found->stream = stream;
  } else if (stream != nullptr && stream != found->stream) {
    found->joined.push_back(stream);
  }
}

void add_to_device_share(std::shared_ptr<Communicator> comm, const Call& call,
                         gyreStream_t stream) {
  auto& shares = group.device_shares;
  auto found = std::find_if(shares.begin(), shares.end(),
                            [&](const DeviceShare& share) { return share.comm == comm; });
  if (found == shares.end()) found = shares.insert(shares.end(), {std::move(comm), {}, {}});
  found->calls.push_back(call);
  auto& streams = found->streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

// All of them, whatever becomes of one: the peers of the others wait for these.
Result<void> enqueue_shares(const std::vector<DeviceShare>& shares) {
  Result<void> first;
  for (const DeviceShare& share : shares) {
    Result<void> result = share.comm->enqueue(share.calls, share.streams);
    if (first) first = std::move(result);
  }
  return first;
}

void discard_openings() {
  for (const Opening& opening : group.openings) opening.discard();
}

// What the outermost end does with the group.
Result<void> issue_group() {
  Result<void> fit = group.error ? *std::move(group.error) : check_mix(group);
  if (!fit) {
    discard_openings();
    return fit;
  }
  if (!group.openings.empty() || !group.derivations.empty()) {
    return open_all(std::move(group.openings), std::move(group.derivations));
  }
  Result<void> enqueued = enqueue_shares(group.device_shares);
  if (group.shares.empty()) return enqueued;
  Result<void> issued = issue(group.shares);
  return enqueued ? std::move(issued) : std::move(enqueued);
}

Result<void> submit_to_device(const Borrowed& comm, const Call& call, gyreStream_t stream) {
  GYRE_TRY(comm->check_buffers(call));
  if (depth > 0) {
    add_to_device_share(comm.share(), call, stream);
    return {};
  }
  return comm->enqueue({&call, 1}, {&stream, 1});
}

}  // namespace

Result<void> submit(const Borrowed& comm, const Call& call, void* stream) {
  GYRE_TRY(comm->usable());
  GYRE_TRY(comm->check(call));
  if (comm->on_device()) return submit_to_device(comm, call, static_cast<gyreStream_t>(stream));
  const bool alone = depth == 0;
  if (alone && stream == nullptr && comm->options().blocking) return run_now(*comm, call);
  GYRE_TRY_ASSIGN(HostStream* const queue, stream_of(stream));
  if (!alone) {
    add_to_share(comm.share(), call, queue);
    return {};
  }
  std::vector<Share> shares;
  shares.push_back({.comm = comm.share(), .calls = {call}, .stream = queue});
  return issue(shares);
}

Result<void> submit(Opening opening) {
  if (depth > 0) {
    opening.deliver();
    group.openings.push_back(std::move(opening));
    return {};
  }
  return open_one(opening);
}

Result<void> submit_derivation(Derivation derivation) {
  if (depth > 0) {
    group.derivations.push_back(std::move(derivation));
    return {};
  }
  return derive_one(derivation);
}

void group_start() { ++depth; }

Result<void> group_end() {
  if (depth == 0) {
    return Error{Status::invalid_usage,
                 "not in a group call (ncclGroupEnd without ncclGroupStart)"};
  }
  if (--depth > 0) return {};
  Result<void> result = contained("ending a group", issue_group);
  group.clear();
  return result;
}

Result<std::optional<double>> group_simulate() {
  if (depth == 0) {
    return Error{Status::invalid_usage, "not in a group call"};
  }
  if (--depth > 0) return std::optional<double>();
  if (!group.device_shares.empty()) {
    discard_openings();
    group.clear();
    return Error{Status::invalid_usage, "calls of ranks on devices have no predicted time"};
  }
  std::map<const Communicator*, double> seconds;
  for (const Share& share : group.shares) {
    for (const Call& call : share.calls) {
      seconds[share.comm.get()] += share.comm->predicted_seconds(call);
    }
  }
  double longest = 0;
  for (const auto& [comm, time] : seconds) longest = std::max(longest, time);
  const auto error = std::move(group.error);
  discard_openings();
  group.clear();
  if (error) return *error;
  return std::optional(longest);
}

void group_note(const Error& error) {
  if (depth > 0) group.error = error;
}

}  // namespace gyre::abi
