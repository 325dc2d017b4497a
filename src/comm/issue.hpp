// Issuing calls: at once on the calling thread, or as work of a stream; alone or as a group.
#pragma once

#include <memory>
#include <vector>

#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace gyre {

// One communicator's share of a group (or a single call), and where it runs.
struct Share {
  std::shared_ptr<Communicator> comm;
  std::vector<Call> calls;
  HostStream* stream = nullptr;          // null: on the calling thread
  bool background = false;               // runs on the communicator's own worker
  bool awaited = false;                  // has a call without a stream beside calls with one
  std::vector<HostStream*> joined = {};  // further streams that wait for it and that it waits for
  std::uint64_t turn = 0;                // issue() takes and ends it
  bool begun = false;
};

// Runs one call without a stream on a blocking communicator to its end. Hot path: no allocation.
Result<void> run_now(Communicator& comm, const Call& call);

// Issues the shares of one group. Those without a stream have ended when it returns, driven
// together by the calling thread, and so have those awaited; the others run on their streams, in
// issue order per communicator. in_progress if a non-blocking communicator took part. Leaves in
// `shares` those that have ended. No allocation if all have.
Result<void> issue(std::vector<Share>& shares);

}  // namespace gyre
