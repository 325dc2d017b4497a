#include "bootstrap/control.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/process.hpp"
#include "bootstrap/dial.hpp"
#include "bootstrap/hub.hpp"
#include "bootstrap/reactor.hpp"
#include "bootstrap/spoke.hpp"

namespace gyre {
namespace {

using Parts = std::vector<std::vector<std::byte>>;

// A world of one has nobody to talk to.
class SoloControl final : public Control {
 public:
  explicit SoloControl(ControlEvents* events) : events_(events) {}

  Result<Parts> all_gather(std::span<const std::byte> mine, std::string_view, Deadline,
                           const AbortState* abort) override {
    if (abort != nullptr && abort->raised()) return abort->reason();
    return Parts{{mine.begin(), mine.end()}};
  }
  void announce(const Error&) override {}
  void goodbye() override {}
  Result<std::vector<Progress>> ask_progress(milliseconds, const AbortState*) override {
    const ProgressCounts counts = events_->progress();
    return std::vector<Progress>{
        {0, true, counts.entered, counts.finished, counts.call, counts.stamp, counts.awaited}};
  }

 private:
  ControlEvents* events_;
};

class StarControl final : public Control {
 public:
  StarControl(std::shared_ptr<Spoke> spoke, std::shared_ptr<Hub> hub)
      : spoke_(std::move(spoke)), hub_(std::move(hub)) {}
  ~StarControl() override { spoke_->stop(); }

  Result<Parts> all_gather(std::span<const std::byte> mine, std::string_view what,
                           Deadline deadline, const AbortState* abort) override {
    return spoke_->all_gather(mine, what, deadline, abort);
  }
  void announce(const Error& error) override { spoke_->announce(error); }
  void goodbye() override {
    if (!hub_) return spoke_->goodbye();
    // The hub dies with this process, perhaps at once: the others must have heard it before.
    Reactor::instance().run([&] { hub_->goodbye(0); });
  }
  Result<std::vector<Progress>> ask_progress(milliseconds patience,
                                             const AbortState* abort) override {
    GYRE_TRY_ASSIGN(const auto answers, spoke_->ask(patience, abort));
    std::vector<Progress> progress;
    for (const AnswerMessage& answer : answers) {
      progress.push_back({static_cast<int>(progress.size()), answer.answered, answer.entered,
                          answer.finished, answer.call, answer.stamp, answer.awaited});
    }
    return progress;
  }

 private:
  std::shared_ptr<Spoke> spoke_;
  std::shared_ptr<Hub> hub_;  // rank 0 alone
};

Result<std::unique_ptr<Control>> open_hub(const JobKey& key, int world, ControlEvents* events) {
  GYRE_TRY_ASSIGN(auto hub, Hub::start({key, Purpose::control, world, std::nullopt}));
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    const int error = errno;
    Hub::retire(key, Purpose::control);
    return system_error("connecting rank 0 to its own hub (socketpair)", error);
  }
  Fd theirs(ends[0]);
  Fd ours(ends[1]);
  Reactor::instance().run([&] { hub->admit(0, std::move(theirs)); });
  auto spoke = Spoke::start(std::move(ours), 0, world, events);
  return std::unique_ptr<Control>(new StarControl(std::move(spoke), std::move(hub)));
}

}  // namespace

Result<std::unique_ptr<Control>> Control::open(const JobKey& key, int rank, int world,
                                               std::span<const Address> hub_addresses,
                                               ControlEvents* events, Deadline deadline,
                                               const AbortState* abort) {
  GYRE_TRY(refuse_in_child());
  if (world < 1 || rank < 0 || rank >= world || world > kMaxWorld) {
    return Error{Status::invalid_argument, fmt::format("rank {} of {} ranks", rank, world)};
  }
  if (world == 1) return std::unique_ptr<Control>(new SoloControl(events));
  if (rank == 0) return open_hub(key, world, events);
  const Hello hello{Purpose::control, static_cast<std::uint32_t>(rank), 0, 0};
  GYRE_TRY_ASSIGN(Fd fd, dial(hub_addresses, key, hello, deadline, abort, true));
  return std::unique_ptr<Control>(
      new StarControl(Spoke::start(std::move(fd), rank, world, events), nullptr));
}

}  // namespace gyre
