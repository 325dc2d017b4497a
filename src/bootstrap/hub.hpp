// The middle of a star of ranks: gathers their parts, passes on their errors, notices who dies.
// Serves both the rendezvous of an id and the control connections of a communicator.
//
// Lives on the reactor, by itself: from start() until everybody who came is gone again. Only
// start() and retire() may be called on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/frame_connection.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/job_key.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/messages.hpp"
#include "bootstrap/reactor.hpp"

namespace gyre {

class Hub : public std::enable_shared_from_this<Hub> {
 public:
  struct Options {
    JobKey key;
    Purpose purpose = Purpose::control;
    int world = 0;                         // 0: the first who joins says it
    std::optional<Address> fixed_address;  // also listen there
  };
  // Error `busy` if such a hub works already; one that failed or is done gives way.
  // Too few descriptors for the world: that error, here and, for a while, to everybody who joins.
  static Result<std::shared_ptr<Hub>> start(const Options& options);
  // Ends the hub of that key in this process, if there is one.
  static void retire(const JobKey& key, Purpose purpose);

  // A connection whose handshake named `rank`.
  void admit(std::uint32_t rank, Fd fd);
  // Rank says goodbye; for the rank that shares the process, whose word must be out before it ends.
  void goodbye(int rank);

 private:
  enum class Presence : std::uint8_t { absent, present, left, lost };
  struct Member {
    Presence presence = Presence::absent;
    std::string identity;
    std::string how;  // it was lost
    std::shared_ptr<FrameConnection> connection;
    bool questioned = false;  // has not answered the last question yet
  };
  struct Gather {
    std::string what;
    int first = 0;  // the rank whose part came first
    std::vector<std::optional<std::vector<std::byte>>> parts;
    std::size_t present = 0;
    std::size_t bytes = 0;
    std::uint64_t patience_ms = 0;
    Clock::time_point deadline = Clock::time_point::max();
    Reactor::TimerToken timer;
  };
  struct Question {
    int asker = 0;
    std::uint64_t asker_sequence = 0;
    std::vector<AnswerMessage> answers;
    Reactor::TimerToken timer;
  };

  explicit Hub(const Options& options) : options_(options) {}
  static void drop_oldest_unused();

  bool is_rendezvous() const { return options_.purpose == Purpose::rendezvous; }
  bool over() const { return complete_ || broken_.has_value(); }
  std::size_t world() const { return members_.size(); }
  std::string name(int rank) const;

  void on_first_frame(const std::shared_ptr<FrameConnection>& connection, std::uint32_t rank,
                      const Frame& frame);
  Result<void> check_join(const JoinMessage& join, std::uint32_t rank);
  void join(const std::shared_ptr<FrameConnection>& connection, const JoinMessage& message);
  void tell_history(int rank);
  void refuse(const std::shared_ptr<FrameConnection>& connection, const Error& error);
  void on_frame(int rank, const Frame& frame);
  void on_part(int rank, std::uint64_t sequence, PartMessage message);
  void on_announce(int rank, Error error);
  void on_end(int rank, std::string how);
  void on_ask(int rank, std::uint64_t sequence, std::uint64_t patience_ms);
  void on_answer(int rank, std::uint64_t sequence, const AnswerMessage& answer);

  void set_timer(std::uint64_t sequence, Gather& gather, std::uint64_t patience_ms);
  void on_gather_deadline(std::uint64_t sequence);
  void complete(std::uint64_t sequence, Gather& gather);
  void fail_gather(std::uint64_t sequence, const Error& error);
  void fail_gathers_without(int rank);
  std::optional<Error> impossible(const Gather& gather) const;
  void break_down(int rank, const Error& error);
  void finish_question(std::uint64_t sequence);

  void send(int rank, const SharedBytes& frame);
  void send_to_others(int rank, const SharedBytes& frame);
  void linger();
  void finish_if_done();
  void finish();

  Options options_;
  std::shared_ptr<Hub> self_;  // until finish()
  std::uint64_t serial_ = 0;   // in order of start()
  Listener::Registration expecting_;
  Listener::Registration fixed_;
  std::set<std::shared_ptr<FrameConnection>> unjoined_;
  std::vector<Member> members_;
  int first_member_ = -1;
  std::map<std::uint64_t, Gather> gathers_;
  std::map<std::uint64_t, Error> failed_;  // recent gathers, for ranks that come to them late
  std::map<std::uint64_t, Question> questions_;
  std::uint64_t next_question_ = 1;
  std::optional<Error> broken_;  // what every further gather fails with
  bool complete_ = false;        // a rendezvous whose result went out
  Reactor::TimerToken linger_;
};

}  // namespace gyre
