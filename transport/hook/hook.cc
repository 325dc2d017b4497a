#include "transport/hook/hook.hpp"

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>

#include "base/memory.hpp"
#include "transport/hook/relay.hpp"
#include "transport/inbox.hpp"

namespace gyre {
namespace {

class HookTransport final : public Transport {
 public:
  HookTransport(std::unique_ptr<Transport> inner, std::string_view plan,
                const TransportContext& context)
      : inner_(std::move(inner)),
        plan_(plan),
        context_(context),
        name_(fmt::format("{}+{}", inner_->name(), plan.substr(0, plan.find(':')))) {}

  std::string_view name() const override { return name_; }
  bool polls() const override { return true; }
  Result<Blob> offer() override;
  bool reaches(int peer, const Blob& mine, const Blob& theirs) const override {
    return inner_->reaches(peer, mine, theirs);
  }
  Result<std::vector<bool>> connect(std::span<const int> peers, std::span<const Blob> blobs,
                                    Deadline deadline) override;
  void keep(std::span<const int> peers) override;
  Link* link(int peer) override;
  Result<bool> poll() override;
  void descriptors(std::vector<pollfd>& fds) const override;
  bool flushed() const override;
  void between_calls() override { inner_->between_calls(); }
  void close(bool goodbye) override;

 private:
  Result<void> interpose(std::span<const int> peers);
  void arm(Clock::time_point time);

  std::unique_ptr<Transport> inner_;
  std::string plan_;
  TransportContext context_;
  std::string name_;
  std::unique_ptr<hook::Policy> policy_;
  Mapping memory_;
  Fd timer_;
  bool armed_ = false;
  std::map<int, std::unique_ptr<hook::Relay>> relays_;
  bool closed_ = false;
};

Result<Blob> HookTransport::offer() {
  GYRE_TRY_ASSIGN(const hook::Plan plan, hook::parse(plan_));
  GYRE_TRY_ASSIGN(policy_, hook::make_policy(plan, context_.rank));
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return system_error("creating the timer of GYRE_HOOK (timerfd_create)", errno);
  return inner_->offer();
}

Result<std::vector<bool>> HookTransport::connect(std::span<const int> peers,
                                                 std::span<const Blob> blobs, Deadline deadline) {
  GYRE_TRY_ASSIGN(auto verdicts, inner_->connect(peers, blobs, deadline));
  GYRE_TRY(interpose(peers));
  return verdicts;
}

Result<void> HookTransport::interpose(std::span<const int> peers) {
  std::vector<int> linked;
  for (const int peer : peers) {
    if (inner_->link(peer) != nullptr) linked.push_back(peer);
  }
  if (linked.empty()) return {};
  const Settings& settings = *context_.settings;
  const InboxLayout layout{static_cast<std::uint32_t>(2 * linked.size()),
                           static_cast<std::uint32_t>(settings.slots),
                           static_cast<std::uint64_t>(settings.slot_bytes)};
  GYRE_TRY_ASSIGN(memory_, Mapping::anonymous(layout.total_bytes()));
  advise_inbox(memory_, layout);
  std::uint32_t lane = 0;
  for (const int peer : linked) {
    relays_[peer] =
        std::make_unique<hook::Relay>(peer, inner_->link(peer), layout.view(memory_.data(), lane),
                                      layout.view(memory_.data(), lane + 1));
    lane += 2;
  }
  return {};
}

void HookTransport::keep(std::span<const int> peers) {
  inner_->keep(peers);
  std::erase_if(relays_, [&](const auto& entry) { return inner_->link(entry.first) == nullptr; });
}

Link* HookTransport::link(int peer) {
  const auto found = relays_.find(peer);
  return found == relays_.end() ? nullptr : found->second.get();
}

void HookTransport::arm(Clock::time_point time) {
  const bool wanted = time != Clock::time_point::max();
  if (!wanted && !armed_) return;
  itimerspec at{};
  if (wanted) {
    const auto ns = std::chrono::nanoseconds(time.time_since_epoch()).count();
    at.it_value.tv_sec = ns / 1'000'000'000;
    at.it_value.tv_nsec = ns % 1'000'000'000;
  }
  // Setting it also clears an expiry that was not read.
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  armed_ = wanted;
}

Result<bool> HookTransport::poll() {
  if (closed_) return false;
  bool moved = false;
  if (inner_->polls()) {
    GYRE_TRY_ASSIGN(moved, inner_->poll());
  }
  bool closing = false;
  Clock::time_point again = Clock::time_point::max();
  for (const auto& [peer, relay] : relays_) {
    GYRE_TRY_ASSIGN(const auto outcome, relay->pump(*policy_));
    moved = moved || outcome.moved;
    again = std::min(again, outcome.again);
    closing = closing || outcome.close;
  }
  arm(again);
  // What was just handed to the inner transport leaves now, not at the next call.
  if (moved && inner_->polls()) GYRE_TRY(inner_->poll());
  // The slots before the fatal one have left first, so that a plan means the same on every path.
  if (closing && inner_->flushed()) {
    close(false);
    return true;
  }
  return moved;
}

void HookTransport::descriptors(std::vector<pollfd>& fds) const {
  if (closed_) return;
  inner_->descriptors(fds);
  fds.push_back({timer_.get(), POLLIN, 0});
}

bool HookTransport::flushed() const {
  if (closed_) return true;
  for (const auto& [peer, relay] : relays_) {
    if (!relay->flushed()) return false;
  }
  return inner_->flushed();
}

void HookTransport::close(bool goodbye) {
  if (closed_) return;
  closed_ = true;
  if (goodbye) {
    for (const auto& [peer, relay] : relays_) relay->push_rest();
  }
  inner_->close(goodbye);
}

}  // namespace

std::unique_ptr<Transport> make_hook(std::unique_ptr<Transport> inner, std::string_view plan,
                                     const TransportContext& context) {
  return std::make_unique<HookTransport>(std::move(inner), plan, context);
}

}  // namespace gyre
