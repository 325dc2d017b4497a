#include "transport/socket/stream.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/log.hpp"
#include "bootstrap/socket_util.hpp"

namespace gyre::socket {
namespace {

// Frames that one system call sends at most.
constexpr std::size_t kBatch = 16;

const std::byte* payload(const LaneView& lane, std::uint64_t position) {
  const SlotHeader& header = lane.header(position);
  switch (header.kind) {
    case SlotKind::inlined:
      return header.inline_data;
    case SlotKind::address:
      return reinterpret_cast<const std::byte*>(header.location);
    default:
      return lane.slot(position);
  }
}

bool is_posted(const LaneView& lane, std::uint64_t position) {
  return lane.header(position).sequence.load(std::memory_order_acquire) == position + 1;
}

// A batch of frames, less the first `skip` bytes.
class Gather {
 public:
  void add(std::span<const std::byte> bytes) {
    const std::size_t left_out = std::min<std::size_t>(skip_, bytes.size());
    skip_ -= left_out;
    if (left_out == bytes.size()) return;
    parts_[count_++] = {const_cast<std::byte*>(bytes.data() + left_out), bytes.size() - left_out};
  }
  explicit Gather(std::uint64_t skip) : skip_(skip) {}
  bool empty() const { return count_ == 0; }
  ssize_t send(int fd) {
    msghdr message{};
    message.msg_iov = parts_.data();
    message.msg_iovlen = count_;
    ssize_t sent = -1;
    do {
      sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent;
  }

 private:
  std::array<iovec, 2 * kBatch> parts_;
  std::size_t count_ = 0;
  std::uint64_t skip_;
};

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

// Whether an error of a send means that the connection is over, and not that this rank asked for
// something that cannot be sent.
bool ends_connection(int error) {
  constexpr std::array kEnds = {EPIPE,        ECONNRESET, ETIMEDOUT,    EHOSTUNREACH, ENETUNREACH,
                                ECONNABORTED, ENETDOWN,   ECONNREFUSED, EHOSTDOWN,    ENETRESET};
  return std::find(kEnds.begin(), kEnds.end(), error) != kEnds.end();
}

}  // namespace

// The socket gives an error once: what a send has found, no receive will find again.
Result<bool> Stream::failed_send(const LaneView& lane, int error, bool moved) {
  if (!ends_connection(error)) {
    return system_error(fmt::format("sending {} bytes at {}", lane.header(out_position_).bytes,
                                    fmt::ptr(payload(lane, out_position_))),
                        error);
  }
  broken_ = true;
  send_error_ = error;
  return moved;
}

Result<bool> Stream::push(const LaneView& lane) {
  bool moved = false;
  while (!broken_ && is_posted(lane, out_position_)) {
    std::array<FrameBytes, kBatch> headers;
    Gather gather(out_offset_);
    std::uint64_t total = 0;
    std::uint64_t position = out_position_;
    for (std::size_t i = 0; i < kBatch && is_posted(lane, position); ++i, position += streams_) {
      const SlotHeader& slot = lane.header(position);
      headers[i] = encode(FrameHeader{position, slot.bytes, slot.count, slot.call, kDataFrame});
      gather.add(headers[i]);
      gather.add({payload(lane, position), slot.bytes});
      total += kFrameHeaderBytes + slot.bytes;
    }
    const ssize_t sent = gather.send(socket_.get());
    if (sent < 0) {
      const int error = errno;
      full_ = would_block();
      return full_ ? moved : failed_send(lane, error, moved);
    }
    moved = true;
    full_ = static_cast<std::uint64_t>(sent) < total - out_offset_;
    out_offset_ += static_cast<std::uint64_t>(sent);
    while (out_position_ != position) {
      const std::uint64_t frame = kFrameHeaderBytes + lane.header(out_position_).bytes;
      if (out_offset_ < frame) break;
      out_offset_ -= frame;
      out_position_ += streams_;
    }
    if (full_) return true;
  }
  return moved;
}

bool Stream::push_goodbye() {
  if (broken_) return true;
  const FrameBytes bytes = encode(FrameHeader{out_position_, 0, 0, 0, kGoodbyeFrame});
  Gather gather(out_offset_);
  gather.add(bytes);
  if (!gather.empty()) {
    const ssize_t sent = gather.send(socket_.get());
    if (sent < 0 && would_block()) {
      full_ = true;
      return false;
    }
    if (sent < 0) {
      send_error_ = errno;
      return broken_ = true;
    }
    out_offset_ += static_cast<std::uint64_t>(sent);
    full_ = out_offset_ < kFrameHeaderBytes;
    if (full_) return false;
  }
  ::shutdown(socket_.get(), SHUT_WR);
  return true;
}

bool Stream::discard() {
  std::array<std::byte, 16384> sink;
  // So many at most: the peer decides how much there is, and others wait for this thread.
  constexpr int kReads = 16;
  for (int i = 0; i < kReads; ++i) {
    const ssize_t got = ::recv(socket_.get(), sink.data(), sink.size(), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    return got == 0 || !would_block();
  }
  return false;
}

std::byte* Stream::destination(const LaneView& lane) const {
  return in_header_.bytes <= kInlineBytes ? lane.header(in_position_).inline_data
                                          : lane.slot(in_position_);
}

Result<bool> Stream::pull(const LaneView& lane) {
  bool moved = false;
  for (;;) {
    GYRE_TRY_ASSIGN(const bool taken, take_buffered(lane));
    moved = moved || taken;
    if (ended_ || no_slot_) return moved;
    const ssize_t got = read_more(lane);
    if (got > 0) {
      moved = true;
    } else if (got < 0 && would_block()) {
      return moved;
    } else if (got < 0 || (send_error_ != 0 && send_error_ != EPIPE)) {
      const int error = got < 0 ? errno : send_error_;
      end(fmt::format("lost its connection ({})", std::generic_category().message(error)));
    } else {
      end(in_frame_ || begin_ != end_ ? "closed its connection in the middle of a message"
                                      : "closed its connection");
    }
  }
}

// Fills slots from the buffer until it holds no more than a part of a header.
Result<bool> Stream::take_buffered(const LaneView& lane) {
  bool moved = false;
  no_slot_ = false;
  for (;;) {
    if (!in_frame_) {
      GYRE_TRY_ASSIGN(const bool begun, begin_frame(lane));
      if (!begun) return moved;
    }
    const std::uint64_t rest = in_header_.bytes - in_offset_;
    const std::size_t part = std::min<std::uint64_t>(rest, end_ - begin_);
    if (part > 0) std::memcpy(destination(lane) + in_offset_, buffer_.data() + begin_, part);
    begin_ += part;
    in_offset_ += part;
    if (in_offset_ < in_header_.bytes) return moved;
    finish_frame(lane);
    moved = true;
  }
}

// Takes a header out of the buffer if it is whole and there is a free slot for its payload.
Result<bool> Stream::begin_frame(const LaneView& lane) {
  if (goodbye_ || end_ - begin_ < kFrameHeaderBytes) return false;
  const FrameHeader header = decode(
      std::span<const std::byte, kFrameHeaderBytes>(buffer_.data() + begin_, kFrameHeaderBytes));
  if (header.kind == kGoodbyeFrame && header.bytes == 0) {
    begin_ += kFrameHeaderBytes;
    goodbye_ = true;
    return false;
  }
  if (header.kind != kDataFrame || header.position != in_position_) {
    return Error{Status::internal,
                 fmt::format("sent a frame of kind {:#x} at position {} where position {} comes "
                             "next",
                             header.kind, header.position, in_position_)};
  }
  if (header.bytes > lane.slot_bytes) {
    return Error{Status::internal, fmt::format("sent a frame of {} bytes for a slot of {}",
                                               header.bytes, lane.slot_bytes)};
  }
  if (in_position_ >= lane.credit->head.load(std::memory_order_acquire) + lane.slots) {
    no_slot_ = true;
    return false;
  }
  begin_ += kFrameHeaderBytes;
  in_header_ = header;
  in_offset_ = 0;
  in_frame_ = true;
  return true;
}

void Stream::finish_frame(const LaneView& lane) {
  SlotHeader& slot = lane.header(in_position_);
  slot.bytes = in_header_.bytes;
  slot.count = in_header_.count;
  slot.call = in_header_.call;
  slot.kind = in_header_.bytes <= kInlineBytes ? SlotKind::inlined : SlotKind::staged;
  slot.sequence.store(in_position_ + 1, std::memory_order_release);
  in_position_ += streams_;
  in_frame_ = false;
}

// The rest of a payload goes straight to its slot, what comes after it to the buffer.
ssize_t Stream::read_more(const LaneView& lane) {
  std::array<iovec, 2> parts;
  std::size_t count = 0;
  std::uint64_t direct = 0;
  if (in_frame_) {
    direct = in_header_.bytes - in_offset_;
    parts[count++] = {destination(lane) + in_offset_, direct};
  }
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  parts[count++] = {buffer_.data() + end_, buffer_.size() - end_};
  ssize_t got = -1;
  do {
    got = ::readv(socket_.get(), parts.data(), static_cast<int>(count));
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    const std::uint64_t straight = std::min(direct, static_cast<std::uint64_t>(got));
    in_offset_ += straight;
    end_ += static_cast<std::size_t>(got) - straight;
  }
  return got;
}

void Stream::end(std::string how) {
  ended_ = true;
  how_ = std::move(how);
}

void tune(const Fd& socket, const std::string& congestion) {
  set_no_delay(socket);
  set_keep_alive(socket);
  const std::string name = congestion == "auto" ? "cubic" : congestion;
  if (name.empty() || ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                                   static_cast<socklen_t>(name.size())) == 0) {
    return;
  }
  static std::atomic<bool> told{false};
  const int error = errno;
  if (told.exchange(true, std::memory_order_relaxed)) return;
  const std::string why = std::generic_category().message(error);
  if (congestion == "auto") {
    log_info(Subsystem::net, "TCP keeps the system's congestion control ({}: {})", name, why);
  } else {
    log_warn("GYRE_TCP_CONGESTION={} cannot be used: {}", name, why);
  }
}

}  // namespace gyre::socket
