#include "transport/direct/direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "bootstrap/reactor.hpp"
#include "transport/direct/inbox_registry.hpp"

namespace gyre {
namespace {

using direct::Inbox;
using direct::ReadMark;

// How long a rank that aborts waits for peers which are reading its memory at this moment. A slice
// is copied in far less, unless the reader's thread is not running.
constexpr milliseconds kReaderGrace{100};

class DirectLink final : public Link {
 public:
  DirectLink(int peer, std::shared_ptr<Inbox> mine, std::shared_ptr<Inbox> theirs, LaneView out,
             LaneView in, ReadMark* reading, ReadMark* read_by_peer, std::uint64_t refer_from)
      : peer_(peer),
        mine_(std::move(mine)),
        theirs_(std::move(theirs)),
        reading_(reading),
        read_by_peer_(read_by_peer),
        refer_from_(refer_from) {
    send = LaneSender(out);
    receive = LaneReceiver(in);
    peer_bell = theirs_->bell();
  }

  bool refer(const std::byte* data, std::uint64_t bytes, bool, SlotHeader& header) override {
    if (bytes < refer_from_) return false;
    header.kind = SlotKind::address;
    header.location = reinterpret_cast<std::uint64_t>(data);
    header.reference = {};
    return true;
  }

  void offer(std::byte* place, std::uint64_t, SlotHeader& header) override {
    header.reference.place_location = reinterpret_cast<std::uint64_t>(place);
  }
  // The mark that locate() left holds for the place as well.
  std::byte* place(const SlotHeader& header, std::uint64_t) override {
    return reinterpret_cast<std::byte*>(header.reference.place_location);
  }

  bool shares_process() const override { return true; }

  const std::byte* locate(const SlotHeader& header, std::uint64_t bytes) const override {
    if (header.kind != SlotKind::address) return Link::locate(header, bytes);
    // Mark first, then look whether the sender is leaving; it does the opposite, so that one of
    // the two always sees the other.
    reading_->position.store(receive.position() + 1, std::memory_order_seq_cst);
    if (theirs_->closed()) {
      reading_->position.store(0, std::memory_order_release);
      return nullptr;
    }
    return reinterpret_cast<const std::byte*>(header.location);
  }

  Result<void> fetch(const SlotHeader& header, std::uint64_t bytes, std::byte* into) override {
    const std::byte* data = locate(header, bytes);
    if (data == nullptr) {
      return Error{Status::peer_lost,
                   fmt::format("rank {} left the communicator during a transfer", peer_)};
    }
    std::memcpy(into, data, bytes);
    return {};
  }

  // Whether the peer reads, at this moment, memory that this rank referred to.
  bool being_read() const {
    const std::uint64_t marked = read_by_peer_->position.load(std::memory_order_seq_cst);
    return marked > send.view().credit->head.load(std::memory_order_acquire);
  }
  Inbox& theirs() const { return *theirs_; }
  std::shared_ptr<Inbox> share_theirs() const { return theirs_; }

 private:
  int peer_;
  std::shared_ptr<Inbox> mine_;  // holds `receive`
  std::shared_ptr<Inbox> theirs_;
  ReadMark* reading_;
  ReadMark* read_by_peer_;
  std::uint64_t refer_from_;
};

class DirectTransport final : public Transport {
 public:
  explicit DirectTransport(const TransportContext& context) : context_(context) {}
  ~DirectTransport() override { close(false); }

  std::string_view name() const override { return "direct"; }
  Result<Blob> offer() override;
  bool reaches(int peer, const Blob& mine, const Blob& theirs) const override;
  Result<std::vector<bool>> connect(std::span<const int> peers, std::span<const Blob> blobs,
                                    Deadline deadline) override;
  void keep(std::span<const int> peers) override;
  Link* link(int peer) override;
  void close(bool goodbye) override;

 private:
  Result<void> connect_one(int peer, std::span<const int> group);

  TransportContext context_;
  std::shared_ptr<Inbox> inbox_;
  std::map<int, std::unique_ptr<DirectLink>> links_;
  bool kept_ = false;
  bool closed_ = false;
};

Result<Blob> DirectTransport::offer() {
  if (context_.settings->p2p_disable) return Blob{};
  inbox_ = std::make_shared<Inbox>(context_);
  GYRE_TRY(inbox_->open());
  GYRE_TRY(direct::register_inbox(context_.key, context_.rank, inbox_));
  const Nonce nonce = direct::process_nonce();
  Blob blob(nonce.size());
  std::memcpy(blob.data(), nonce.data(), nonce.size());
  return blob;
}

bool DirectTransport::reaches(int, const Blob& mine, const Blob& theirs) const {
  return mine.size() == sizeof(Nonce) && mine == theirs;
}

Result<std::vector<bool>> DirectTransport::connect(std::span<const int> peers,
                                                   std::span<const Blob>, Deadline) {
  // The ranks of a process all see the same group, so whoever lays an inbox out, the lanes agree.
  std::vector<int> group(peers.begin(), peers.end());
  group.push_back(context_.rank);
  std::sort(group.begin(), group.end());
  group.erase(std::unique(group.begin(), group.end()), group.end());

  std::vector<bool> verdicts;
  for (const int peer : peers) {
    const auto connected = connect_one(peer, group);
    if (!connected) {
      log_warn("rank {} cannot use direct memory with rank {}: {}", context_.rank, peer,
               connected.error().text);
    }
    verdicts.push_back(static_cast<bool>(connected));
  }
  return verdicts;
}

Result<void> DirectTransport::connect_one(int peer, std::span<const int> group) {
  if (inbox_ == nullptr) return Error{Status::internal, "connect() before offer()"};
  auto theirs = direct::find_inbox(context_.key, peer);
  if (theirs == nullptr) return Error{Status::peer_lost, "it has left already"};
  GYRE_TRY(inbox_->lay_out(group));
  GYRE_TRY(theirs->lay_out(group));
  const auto out = theirs->lane_from(context_.rank);
  const auto in = inbox_->lane_from(peer);
  if (!out || !in || out->slots != in->slots || out->slot_bytes != in->slot_bytes) {
    return Error{Status::internal, "the two ranks disagree about their lanes"};
  }
  links_[peer] = std::make_unique<DirectLink>(
      peer, inbox_, theirs, *out, *in, inbox_->mark_of(peer), theirs->mark_of(context_.rank),
      static_cast<std::uint64_t>(context_.settings->zero_copy_bytes));
  return {};
}

void DirectTransport::keep(std::span<const int> peers) {
  std::erase_if(links_, [&](const auto& entry) {
    return std::find(peers.begin(), peers.end(), entry.first) == peers.end();
  });
  kept_ = true;
}

Link* DirectTransport::link(int peer) {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second.get();
}

void DirectTransport::close(bool goodbye) {
  if (closed_ || inbox_ == nullptr) return;
  closed_ = true;
  inbox_->close();
  direct::forget_inbox(context_.key, context_.rank, inbox_.get());
  if (!kept_) return;
  const Deadline grace = Deadline::after(kReaderGrace);
  for (const auto& [peer, link] : links_) {
    while (!goodbye && link->being_read() && !grace.expired()) std::this_thread::yield();
  }
  for (const auto& [peer, link] : links_) {
    if (peer == context_.rank) continue;
    // On the reactor: the peer's own thread may be inside any call, and ours holds none of its
    // locks there. Contained, as a destructor comes here: without memory this peer is not told.
    (void)contained("", [&, link = link.get()]() -> Result<void> {
      Reactor::instance().post([inbox = link->share_theirs(), me = context_.rank, goodbye] {
        if (goodbye) return inbox->tell_ended(me);
        inbox->tell_lost(me, "left the communicator without a goodbye");
      });
      return {};
    });
  }
}

}  // namespace

std::unique_ptr<Transport> make_direct(const TransportContext& context) {
  return std::make_unique<DirectTransport>(context);
}

}  // namespace gyre
