#include "comm/issue.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/contain.hpp"

namespace gyre {
namespace {

// The shares that one thread drives together, with their turns.
struct Batch {
  std::vector<Share> shares;
  std::vector<std::uint64_t> turns;

  // Every turn that was taken comes and goes, whatever happens to the calls: by run(), or by
  // give_up() if run() will never be called.
  void take_turns();
  Result<void> run();
  void give_up();

 private:
  Result<void> run_in_turn();
  void end_turns();
};

Result<void> Batch::run() {
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i].comm->turns().wait(turns[i]);
  Result<void> result = contained("running a group", [this] { return run_in_turn(); });
  end_turns();
  return result;
}

Result<void> Batch::run_in_turn() {
  std::vector<Drive> drives;
  std::vector<Communicator*> begun;
  drives.reserve(shares.size());
  begun.reserve(shares.size());
  Result<void> result;
  for (const Share& share : shares) {
    auto one = share.comm->begin(share.calls);
    if (one) {
      drives.push_back(*std::move(one));
      begun.push_back(share.comm.get());
    } else if (result) {
      result = std::move(one).error();
    }
  }
  Communicator::drive(drives);
  for (std::size_t i = 0; i < drives.size(); ++i) {
    begun[i]->end(drives[i]);
    if (!drives[i].result && result) result = std::move(drives[i].result);
  }
  return result;
}

void Batch::take_turns() {
  turns.resize(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    turns[i] = shares[i].comm->turns().take();
    if (shares[i].background) shares[i].comm->begin_background();
  }
}

void Batch::give_up() {
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i].comm->turns().wait(turns[i]);
  end_turns();
}

void Batch::end_turns() {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i].comm->turns().end(turns[i]);
    if (shares[i].background) shares[i].comm->end_background();
  }
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
  for (const Share& share : batch->shares) {
    for (HostStream* other : share.joined) {
      if (other != stream && std::find(joined.begin(), joined.end(), other) == joined.end()) {
        joined.push_back(other);
      }
    }
  }
  if (joined.empty()) {
    return stream->enqueue([batch = std::move(batch)] { return batch->run(); });
  }
  auto junction = std::make_shared<Junction>();
  const auto queued = contained("queueing a group", [&]() -> Result<void> {
    for (HostStream* other : joined) {
      GYRE_TRY(other->enqueue([junction] {
        junction->arrive();
        junction->wait_release();
      }));
    }
    return stream->enqueue([batch = std::move(batch), junction, count = joined.size()] {
      junction->wait_arrivals(count);
      Result<void> result = batch->run();
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

Result<void> issue(std::vector<Share> shares) {
  bool in_progress = false;
  std::vector<HostStream*> awaited;
  // One batch per stream, in order of first use; all shares without a stream form the last one.
  std::vector<std::pair<HostStream*, std::shared_ptr<Batch>>> batches;
  Batch now;
  for (Share& share : shares) {
    if (share.stream == nullptr && !share.comm->options().blocking) {
      GYRE_TRY_ASSIGN(share.stream, share.comm->worker());
      share.background = true;
    }
  }
  for (Share& share : shares) {
    in_progress = in_progress || share.background;
    if (share.awaited && share.comm->options().blocking) awaited.push_back(share.stream);
    Batch* batch = &now;
    if (share.stream != nullptr) {
      const auto found = std::find_if(batches.begin(), batches.end(),
                                      [&](const auto& one) { return one.first == share.stream; });
      if (found == batches.end()) {
        batches.emplace_back(share.stream, std::make_shared<Batch>());
        batch = batches.back().second.get();
      } else {
        batch = found->second.get();
      }
    }
    batch->shares.push_back(std::move(share));
  }
  Result<void> result;
  for (auto& [stream, batch] : batches) {
    batch->take_turns();
    Result<void> enqueued = contained(
        "queueing a group", [&, batch = batch, stream = stream] { return enqueue(batch, stream); });
    if (enqueued) continue;
    batch->give_up();
    if (result) result = std::move(enqueued);
  }
  if (!now.shares.empty()) {
    now.take_turns();
    Result<void> ran = now.run();
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
