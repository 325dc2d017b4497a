#include "transport/hook/policy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/fd.hpp"

namespace gyre::hook {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

class Trace final : public Policy {
 public:
  Trace(Fd file, int rank) : file_(std::move(file)), rank_(rank) {}

  void on_send(int peer, std::uint64_t position, SlotHeader& header,
               std::span<std::byte>) override {
    write_line("send", peer, position, header);
  }
  void on_receive(int peer, std::uint64_t position, const SlotHeader& header) override {
    write_line("receive", peer, position, header);
  }

 private:
  // One write(2) a line in append mode, so that the lines of several ranks do not mix.
  void write_line(std::string_view direction, int peer, std::uint64_t position,
                  const SlotHeader& header) {
    const auto now = duration_cast<microseconds>(Clock::now().time_since_epoch()).count();
    line_.clear();
    fmt::format_to(fmt::appender(line_),
                   "{{\"us\":{},\"rank\":{},\"peer\":{},\"do\":\"{}\",\"position\":{},\"bytes\":{},"
                   "\"count\":{},\"call\":{}}}\n",
                   now, rank_, peer, direction, position, header.bytes, header.count, header.call);
    // A full disk must not stop the job; the trace then has holes.
    [[maybe_unused]] const auto written = ::write(file_.get(), line_.data(), line_.size());
  }

  Fd file_;
  int rank_;
  fmt::memory_buffer line_;
};

class Fault final : public Policy {
 public:
  Fault(const FaultPlan& plan, int rank) : plan_(plan), active_(!plan.rank || *plan.rank == rank) {}

  Decision before_send(int peer, std::uint64_t position, const SlotHeader&) override {
    if (!concerns(peer)) return {};
    if (plan_.close == position) return {Fate::close, {}};
    if (plan_.delay.count() > 0) {
      Held& held = held_[peer];
      if (held.next != position + 1) held = {position + 1, Clock::now() + plan_.delay};
      if (Clock::now() < held.until) return {Fate::hold, held.until};
    }
    return {plan_.drop == position ? Fate::drop : Fate::pass, {}};
  }

  void on_send(int peer, std::uint64_t position, SlotHeader& header,
               std::span<std::byte> payload) override {
    if (!concerns(peer)) return;
    if (plan_.corrupt == position && !payload.empty()) payload[payload.size() / 2] ^= std::byte{1};
    if (plan_.truncate == position) header.bytes /= 2;
  }

 private:
  struct Held {
    std::uint64_t next = 0;  // position + 1 of the slot that waits
    Clock::time_point until{};
  };
  bool concerns(int peer) const { return active_ && (!plan_.peer || *plan_.peer == peer); }

  FaultPlan plan_;
  bool active_;
  std::map<int, Held> held_;
};

// A bucket per peer that holds at most one tenth of a second of bytes, or one slot.
class Throttle final : public Policy {
 public:
  explicit Throttle(const ThrottlePlan& plan) : rate_(static_cast<double>(plan.bytes_per_second)) {}

  Decision before_send(int peer, std::uint64_t, const SlotHeader& header) override {
    const auto [entry, fresh] = buckets_.try_emplace(peer);
    Bucket& bucket = entry->second;
    const auto now = Clock::now();
    const auto bytes = static_cast<double>(header.bytes);
    const double most = std::max(rate_ / 10, bytes);
    bucket.tokens = fresh ? most : std::min(most, bucket.tokens + rate_ * since(bucket.at, now));
    bucket.at = now;
    if (bucket.tokens < bytes) {
      const double seconds = (bytes - bucket.tokens) / rate_;
      return {Fate::hold, now + nanoseconds(1 + static_cast<std::int64_t>(seconds * 1e9))};
    }
    bucket.tokens -= bytes;
    return {};
  }

 private:
  struct Bucket {
    double tokens = 0;
    Clock::time_point at{};
  };
  static double since(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  double rate_;
  std::map<int, Bucket> buckets_;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const Plan& plan, int rank) {
  if (const auto* trace = std::get_if<TracePlan>(&plan)) {
    Fd file(::open(trace->file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!file) return system_error(fmt::format("GYRE_HOOK: opening {}", trace->file), errno);
    return std::unique_ptr<Policy>(std::make_unique<Trace>(std::move(file), rank));
  }
  if (const auto* fault = std::get_if<FaultPlan>(&plan)) {
    return std::unique_ptr<Policy>(std::make_unique<Fault>(*fault, rank));
  }
  return std::unique_ptr<Policy>(std::make_unique<Throttle>(std::get<ThrottlePlan>(plan)));
}

}  // namespace gyre::hook
