#include "transport/socket/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gyre::socket {
namespace {

// When one of several streams ends, the rest of a dying peer end at the same moment, but for the
// network between.
constexpr milliseconds kStragglers{500};

}  // namespace

SocketLink::SocketLink(int peer, std::vector<Stream> streams, std::shared_ptr<const Mapping> memory,
                       LaneView out, LaneView in, std::uint64_t refer_from)
    : peer_(peer),
      streams_(std::move(streams)),
      said_(streams_.size(), false),
      over_(streams_.size(), false),
      memory_(std::move(memory)),
      refer_from_(refer_from) {
  send = LaneSender(out);
  receive = LaneReceiver(in);
}

bool SocketLink::refer(const std::byte* data, std::uint64_t bytes, bool, SlotHeader& header) {
  // A larger frame than a slot would be refused at the other end.
  if (bytes < refer_from_ || bytes > send.view().slot_bytes) return false;
  header.kind = SlotKind::address;
  header.location = reinterpret_cast<std::uint64_t>(data);
  header.reference = {};
  return true;
}

void SocketLink::publish_credit() {
  std::uint64_t sent = streams_.front().next_out();
  for (const Stream& stream : streams_) sent = std::min(sent, stream.next_out());
  send.view().credit->head.store(std::min(sent, send.position()), std::memory_order_release);
}

Result<bool> SocketLink::pump(std::span<const pollfd> ready) {
  bool moved = false;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    const auto may = [&](short event) {
      return ready.empty() || (ready[i].revents & (event | POLLHUP | POLLERR)) != 0;
    };
    if (!stream.wants_write() || may(POLLOUT)) {
      const auto pushed = stream.push(send.view());
      if (!pushed) {
        return Error{pushed.status(), fmt::format("to rank {}: {}", peer_, pushed.error().text)};
      }
      moved = *pushed || moved;
    }
    if (!stream.ended() && (!stream.wants_read() || may(POLLIN))) {
      const auto pulled = stream.pull(receive.view());
      if (!pulled) {
        return Error{pulled.status(), fmt::format("rank {} {}", peer_, pulled.error().text)};
      }
      moved = *pulled || moved;
    }
  }
  if (moved) publish_credit();
  return moved;
}

void SocketLink::interest(std::vector<pollfd>& fds) const {
  for (const Stream& stream : streams_) {
    const short events = static_cast<short>((stream.wants_read() ? POLLIN : 0) |
                                            (stream.wants_write() ? POLLOUT : 0));
    // A stream that has ended would report that for ever.
    fds.push_back({events == 0 || stream.ended() ? -1 : stream.fd(), events, 0});
  }
}

bool SocketLink::flushed() const {
  return send.view().credit->head.load(std::memory_order_relaxed) == send.position();
}

bool SocketLink::lost(std::string& how) {
  if (lost_) return false;
  const Stream* ended = nullptr;
  bool all = true;
  for (const Stream& stream : streams_) {
    if (stream.ended() && !stream.said_goodbye()) {
      ended = &stream;
    } else if (!stream.ended()) {
      all = false;
    }
  }
  if (ended == nullptr) return false;
  if (!all) {
    if (first_end_ == Clock::time_point{}) first_end_ = Clock::now();
    if (Clock::now() - first_end_ < kStragglers) return false;
  }
  lost_ = true;
  how = ended->how();
  return true;
}

bool SocketLink::left() {
  if (left_) return false;
  left_ = std::all_of(streams_.begin(), streams_.end(),
                      [](const Stream& stream) { return stream.ended() && stream.said_goodbye(); });
  return left_;
}

void SocketLink::own_payloads() {
  const LaneView& lane = send.view();
  for (std::uint64_t p = lane.credit->head.load(std::memory_order_relaxed); p < send.position();
       ++p) {
    SlotHeader& header = lane.header(p);
    if (header.kind != SlotKind::address) continue;
    std::memcpy(lane.slot(p), reinterpret_cast<const std::byte*>(header.location), header.bytes);
    header.kind = SlotKind::staged;
  }
}

bool SocketLink::finish() {
  bool done = true;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    // What cannot be sent has no goodbye after it: the peer sees a loss.
    if (!stream.push(send.view())) said_[i] = over_[i] = true;
    if (!said_[i] && !(stream.wants_write() && stream.next_out() < send.position())) {
      said_[i] = stream.push_goodbye();
    }
    over_[i] = over_[i] || stream.ended() || stream.discard();
    done = done && said_[i] && over_[i];
  }
  return done;
}

short SocketLink::finish_events(std::size_t index) const {
  return static_cast<short>((said_[index] ? 0 : POLLOUT) | (over_[index] ? 0 : POLLIN));
}

}  // namespace gyre::socket
