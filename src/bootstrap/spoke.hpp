// One rank's end of a star: sends its parts, waits for results, passes on what the hub tells.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"
#include "bootstrap/control.hpp"
#include "bootstrap/frame_connection.hpp"
#include "bootstrap/messages.hpp"

namespace gyre {

// Threads: users call the public functions; the reactor runs the private on_*() ones. Results
// cross under `mutex_`. `connection_`, `events_`, `hub_left_` and `loss_` belong to the reactor's
// thread.
class Spoke : public std::enable_shared_from_this<Spoke> {
 public:
  using Parts = std::vector<std::vector<std::byte>>;

  // Takes over a connection whose handshake is done, and joins as `rank` of `world`. `events` may
  // be null.
  static std::shared_ptr<Spoke> start(Fd fd, int rank, int world, ControlEvents* events);
  // Ends the connection (after a goodbye: once it is on its way). No event is called any more when
  // it returns. Does not wait for the peer.
  void stop();

  Result<Parts> all_gather(std::span<const std::byte> mine, std::string_view what,
                           Deadline deadline, const AbortState* abort);
  Result<std::vector<AnswerMessage>> ask(milliseconds patience, const AbortState* abort);
  void announce(const Error& error);
  void goodbye();
  // Whether the hub took this rank in and said later why the ranks cannot go on.
  bool was_judged();

 private:
  // The one frame that ends the wait for a sequence.
  struct Reply {
    bool arrived = false;
    Result<Frame> frame = Error{};
  };

  Spoke(int rank, int world, ControlEvents* events) : rank_(rank), world_(world), events_(events) {}

  Result<Frame> exchange(std::uint64_t sequence, SharedBytes frame, Deadline deadline,
                         const AbortState* abort, std::string_view what);
  void post(SharedBytes frame);
  void on_frame(Frame frame);
  void judge();
  void on_end(std::string how);
  void on_rank_gone(const Frame& frame);
  void on_announced(const Frame& frame);
  void answer(std::uint64_t sequence);
  void reply(std::uint64_t sequence, Result<Frame> frame);
  void fail_all(const Error& error);

  const int rank_;
  const int world_;
  std::shared_ptr<FrameConnection> connection_;
  ControlEvents* events_;
  bool hub_left_ = false;
  std::optional<Error> loss_;  // the first rank that was lost

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 1;                           // sequences of all_gather: equal on all ranks
  std::uint64_t next_ask_ = std::uint64_t{1} << 63;  // those of ask(): this rank's own
  std::map<std::uint64_t, Reply> replies_;           // of the sequences that somebody waits for
  std::optional<Error> dead_;                        // what every wait ends with
  bool judged_ = false;
};

}  // namespace gyre
