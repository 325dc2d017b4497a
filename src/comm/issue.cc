#include "comm/issue.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/contain.hpp"

namespace gyre {
namespace {

constexpr milliseconds kAbortInterval{20};

using Shares = std::vector<Share>;

// Shares whose streams touch: one piece of work, which the first stream runs and the others wait
// for. Were it several, two of them could wait for each other.
struct Batch {
  Shares shares;
  HostStream* runner = nullptr;
  std::vector<HostStream*> others;
  bool awaited = false;  // by the thread that issues it
  Result<void> result;   // once the streams have passed it

  bool has(HostStream* stream) const {
    return stream == runner || std::find(others.begin(), others.end(), stream) != others.end();
  }
  bool touches(const Share& share) const {
    return has(share.stream) || std::any_of(share.joined.begin(), share.joined.end(),
                                            [this](HostStream* other) { return has(other); });
  }
  void add_stream(HostStream* stream) {
    if (runner == nullptr) runner = stream;
    if (!has(stream)) others.push_back(stream);
  }
  void add(Share share) {
    add_stream(share.stream);
    for (HostStream* other : share.joined) add_stream(other);
    awaited = awaited || (share.awaited && share.comm->options().blocking);
    shares.push_back(std::move(share));
  }
  void absorb(Batch& other) {
    for (Share& share : other.shares) add(std::move(share));
    other.shares.clear();
  }
};

using Batches = std::vector<std::shared_ptr<Batch>>;

// Every turn that was taken comes and goes, whatever happens to the calls: by run(), or by
// give_up() if run() will never be called.
void take_turns(Shares& batch) {
  for (Share& share : batch) {
    share.turn = share.comm->turns().take();
    if (share.background) share.comm->begin_background();
  }
}

void wait_turns(const Shares& batch) {
  for (const Share& share : batch) share.comm->turns().wait(share.turn);
}

void end_turns(const Shares& batch) {
  for (const Share& share : batch) {
    share.comm->turns().end(share.turn);
    if (share.background) share.comm->end_background();
  }
}

void give_up(const Shares& batch) {
  wait_turns(batch);
  end_turns(batch);
}

Result<void> run_in_turn(Shares& batch) {
  thread_local std::vector<Drive> drives;  // kept for its memory
  drives.clear();
  drives.reserve(batch.size());
  Result<void> result;
  for (Share& share : batch) {
    auto one = share.comm->begin(share.calls);
    share.begun = static_cast<bool>(one);
    if (one) {
      drives.push_back(*std::move(one));
      continue;
    }
    // Nobody waits for a background call: its error is told by the communicator's state.
    if (share.background) share.comm->broke(one.error());
    if (result) result = std::move(one).error();
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

Result<void> run(Shares& batch) {
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
  // Until `count` streams have arrived, or a communicator of `shares` has been aborted.
  void wait_arrivals(std::size_t count, const Shares& shares) {
    const auto aborted = [&] {
      return std::any_of(shares.begin(), shares.end(),
                         [](const Share& share) { return share.comm->aborted(); });
    };
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kAbortInterval, [&] { return arrived_ >= count; })) {
      if (aborted()) return;
    }
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

Result<void> enqueue(const std::shared_ptr<Batch>& batch) {
  const auto work = [batch] { return batch->result = run(batch->shares); };
  HostStream* const stream = batch->runner;
  const auto& others = batch->others;
  if (others.empty()) return stream->enqueue(work);
  auto junction = std::make_shared<Junction>();
  auto queued = contained("queueing a group", [&]() -> Result<void> {
    for (HostStream* other : others) {
      GYRE_TRY(other->enqueue([junction] {
        junction->arrive();
        junction->wait_release();
      }));
    }
    return stream->enqueue([batch, work, junction, count = others.size()] {
      junction->wait_arrivals(count, batch->shares);
      Result<void> result = work();
      junction->release();
      return result;
    });
  });
  if (!queued) junction->release();  // for the streams that wait there already
  return queued;
}

// The batch of `batches` that the share touches, all such made one; or a new one.
Batch& batch_for(const Share& share, Batches& batches) {
  Batch* found = nullptr;
  for (const auto& batch : batches) {
    if (!batch->touches(share)) continue;
    if (found == nullptr) {
      found = batch.get();
    } else {
      found->absorb(*batch);
    }
  }
  std::erase_if(batches, [](const auto& batch) { return batch->shares.empty(); });
  if (found != nullptr) return *found;
  return *batches.emplace_back(std::make_shared<Batch>());
}

// Moves the shares with a stream into batches, in order of first use.
Batches into_batches(Shares& shares) {
  Batches batches;
  for (Share& share : shares) {
    if (share.stream == nullptr) continue;
    Batch& batch = batch_for(share, batches);
    batch.add(std::move(share));
  }
  std::erase_if(shares, [](const Share& share) { return share.comm == nullptr; });
  return batches;
}

}  // namespace

Result<void> run_now(Communicator& comm, const Call& call) {
  Turns& turns = comm.turns();
  const std::uint64_t turn = turns.take();
  turns.wait(turn);
  Result<void> result = contained("running a call", [&] { return comm.run(call); });
  turns.end(turn);
  return result;
}

Result<void> issue(std::vector<Share>& shares) {
  bool in_progress = false;
  for (Share& share : shares) {
    if (share.stream == nullptr && !share.comm->options().blocking) {
      GYRE_TRY_ASSIGN(share.stream, share.comm->worker());
      share.background = in_progress = true;
    }
  }
  const Batches batches = into_batches(shares);
  Result<void> result;
  for (const auto& batch : batches) {
    take_turns(batch->shares);
    Result<void> enqueued = contained("queueing a group", [&] { return enqueue(batch); });
    if (enqueued) continue;
    give_up(batch->shares);
    batch->awaited = false;
    if (result) result = std::move(enqueued);
  }
  if (!shares.empty()) {
    take_turns(shares);
    Result<void> ran = run(shares);
    if (!ran && result) result = std::move(ran);
  }
  for (const auto& batch : batches) {
    if (!batch->awaited) continue;
    // What the stream says may be the error of earlier work.
    (void)batch->runner->synchronize();
    if (!batch->result && result) result = batch->result;
  }
  if (result && in_progress) {
    return Error{Status::in_progress, "issued on a non-blocking communicator"};
  }
  return result;
}

}  // namespace gyre
