#include "comm/issue.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/contain.hpp"

namespace gyre {
namespace {

// Shares that one thread drives together.
using Batch = std::vector<Share>;

// Every turn that was taken comes and goes, whatever happens to the calls: by run(), or by
// give_up() if run() will never be called.
void take_turns(Batch& batch) {
  for (Share& share : batch) {
    share.turn = share.comm->turns().take();
    if (share.background) share.comm->begin_background();
  }
}

void wait_turns(const Batch& batch) {
  for (const Share& share : batch) share.comm->turns().wait(share.turn);
}

void end_turns(const Batch& batch) {
  for (const Share& share : batch) {
    share.comm->turns().end(share.turn);
    if (share.background) share.comm->end_background();
  }
}

void give_up(const Batch& batch) {
  wait_turns(batch);
  end_turns(batch);
}

Result<void> run_in_turn(Batch& batch) {
  thread_local std::vector<Drive> drives;  // kept for its memory
  drives.clear();
  drives.reserve(batch.size());
  Result<void> result;
  for (Share& share : batch) {
    auto one = share.comm->begin(share.calls);
    share.begun = static_cast<bool>(one);
    if (one) {
      drives.push_back(*std::move(one));
    } else if (result) {
      result = std::move(one).error();
    }
  }
  Communicator::drive(drives);
  auto drive = drives.begin();
  for (const Share& share : batch) {
    if (!share.begun) continue;
    share.comm->end(*drive);
    if (!drive->result && result) result = std::move(drive->result);
    ++drive;
  }
  return result;
}

Result<void> run(Batch& batch) {
  wait_turns(batch);
  Result<void> result = contained("running a group", [&] { return run_in_turn(batch); });
  end_turns(batch);
  return result;
}

// A point that several streams pass together: they arrive, one works, all go on.
class Junction {
 public:
  void arrive() {
    const std::lock_guard lock(mutex_);
    ++arrived_;
    changed_.notify_all();
  }
  void wait_arrivals(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  void wait_release() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return released_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  bool released_ = false;
};

// Enqueues the batch on its stream. Further streams of the group wait for it, and it for them.
Result<void> enqueue(std::shared_ptr<Batch> batch, HostStream* stream) {
  std::vector<HostStream*> joined;
  for (const Share& share : *batch) {
    for (HostStream* other : share.joined) {
      if (other != stream && std::find(joined.begin(), joined.end(), other) == joined.end()) {
        joined.push_back(other);
      }
    }
  }
  if (joined.empty()) {
    return stream->enqueue([batch = std::move(batch)] { return run(*batch); });
  }
  auto junction = std::make_shared<Junction>();
  auto queued = contained("queueing a group", [&]() -> Result<void> {
    for (HostStream* other : joined) {
      GYRE_TRY(other->enqueue([junction] {
        junction->arrive();
        junction->wait_release();
      }));
    }
    return stream->enqueue([batch = std::move(batch), junction, count = joined.size()] {
      junction->wait_arrivals(count);
      Result<void> result = run(*batch);
      junction->release();
      return result;
    });
  });
  if (!queued) junction->release();  // for the streams that wait there already
  return queued;
}

}  // namespace

Result<void> run_now(Communicator& comm, const Call& call) {
  Turns& turns = comm.turns();
  const std::uint64_t turn = turns.take();
  turns.wait(turn);
  Result<void> result = contained("running a call", [&] { return comm.run(std::span(&call, 1)); });
  turns.end(turn);
  return result;
}

Result<void> issue(std::vector<Share>& shares) {
  bool in_progress = false;
  std::vector<HostStream*> awaited;
  // One batch per stream, in order of first use; the shares without a stream stay where they are.
  std::vector<std::pair<HostStream*, std::shared_ptr<Batch>>> batches;
  for (Share& share : shares) {
    if (share.stream == nullptr && !share.comm->options().blocking) {
      GYRE_TRY_ASSIGN(share.stream, share.comm->worker());
      share.background = true;
    }
  }
  for (Share& share : shares) {
    in_progress = in_progress || share.background;
    if (share.awaited && share.comm->options().blocking) awaited.push_back(share.stream);
    if (share.stream == nullptr) continue;
    auto found = std::find_if(batches.begin(), batches.end(),
                              [&](const auto& one) { return one.first == share.stream; });
    if (found == batches.end()) {
      batches.emplace_back(share.stream, std::make_shared<Batch>());
      found = std::prev(batches.end());
    }
    found->second->push_back(std::move(share));
  }
  std::erase_if(shares, [](const Share& share) { return share.comm == nullptr; });
  Result<void> result;
  for (auto& [stream, batch] : batches) {
    take_turns(*batch);
    Result<void> enqueued = contained(
        "queueing a group", [&, batch = batch, stream = stream] { return enqueue(batch, stream); });
    if (enqueued) continue;
    give_up(*batch);
    if (result) result = std::move(enqueued);
  }
  if (!shares.empty()) {
    take_turns(shares);
    Result<void> ran = run(shares);
    if (!ran && result) result = std::move(ran);
  }
  for (HostStream* stream : awaited) {
    Result<void> ran = stream->synchronize();
    if (!ran && result) result = std::move(ran);
  }
  if (result && in_progress)
    return Error{Status::in_progress, "issued on a non-blocking communicator"};
  return result;
}

}  // namespace gyre
