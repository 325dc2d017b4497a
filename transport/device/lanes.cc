#include "transport/device/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "bootstrap/handshake.hpp"

namespace gyre {
namespace {

constexpr std::size_t kAlignment = 256;

// Names this process among all that may share a device: a number that only it has.
std::uint64_t process_token() {
  static const std::uint64_t token = [] {
    std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
    fill_random(bytes);
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number | 1;
  }();
  return token;
}

// The inboxes of this process, by address, for ranks that are told of one.
class Inboxes {
 public:
  void add(const std::shared_ptr<const DeviceMemory>& inbox) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
    all_[address(*inbox)] = inbox;
  }
  std::shared_ptr<const DeviceMemory> at(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(address);
    return found == all_.end() ? nullptr : found->second.lock();
  }
  static std::uint64_t address(const DeviceMemory& inbox) {
    return reinterpret_cast<std::uint64_t>(inbox.data());
  }
  static Inboxes& of_process() {
    // Never destroyed: threads may still be at work when the process ends.
    static auto& inboxes = *new Inboxes;
    return inboxes;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<const DeviceMemory>> all_;
};

// What a rank tells the others of its inbox.
struct Invitation {
  std::uint64_t process = 0;
  std::uint64_t address = 0;
  std::int64_t ordinal = 0;
  std::uint64_t bytes = 0;
  gyreIpcHandle handle{};
};

// The number that `from` writes to `to`.
std::uint64_t probe_of(int from, int to) {
  return 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(from) + 1) +
         static_cast<std::uint64_t>(to);
}

}  // namespace

DeviceLanes::Plan DeviceLanes::plan_of(const LaneShape& shape) {
  std::size_t end = 0;
  const auto part = [&](std::size_t bytes) {
    const std::size_t begin = end;
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  };
  const std::size_t pairs = std::size_t{shape.channels} * shape.world;
  Plan plan{};
  plan.headers = part(pairs * shape.slots * sizeof(SlotHeader));
  plan.credits = part(pairs * sizeof(LaneCredit));
  plan.probes = part(shape.world * sizeof(std::uint64_t));
  plan.ends = part(pairs * sizeof(device::Ends));
  plan.tokens = part(shape.channels * sizeof(device::Tokens));
  plan.reporting = part(sizeof(std::uint32_t));
  plan.lanes = part(pairs * sizeof(device::LanePair));
  plan.refers = part(shape.world);
  plan.counts = part(shape.channels * sizeof(std::uint64_t));
  plan.board = part(sizeof(Board));
  plan.mappings = part(shape.world * device::kMappings * sizeof(device::Mapping));
  plan.shifts = part(shape.world * sizeof(device::Shifts));
  plan.ended = part(sizeof(std::uint32_t));
  plan.exchange = part(device::exchange_inbox_bytes(shape.world, shape.channels));
  plan.data = part(pairs * shape.slots * shape.slot_bytes);
  plan.bytes = end;
  return plan;
}

DeviceLanes::DeviceLanes(const gyreBackend& backend, int ordinal, int rank, const LaneShape& shape)
    : backend_(backend),
      ordinal_(ordinal),
      rank_(rank),
      shape_(shape),
      plan_(plan_of(shape)),
      peers_(shape.world) {}

Result<std::unique_ptr<DeviceLanes>> DeviceLanes::create(const gyreBackend& backend, int ordinal,
                                                         int rank, const LaneShape& shape) {
  std::unique_ptr<DeviceLanes> lanes(new DeviceLanes(backend, ordinal, rank, shape));
  GYRE_TRY_ASSIGN(DeviceMemory inbox,
                  DeviceMemory::on_device(backend, ordinal, lanes->plan_.bytes));
  lanes->inbox_ = std::make_shared<const DeviceMemory>(std::move(inbox));
  Inboxes::of_process().add(lanes->inbox_);
  return lanes;
}

DeviceLanes::~DeviceLanes() {
  for (const Peer& peer : peers_) {
    if (peer.imported) close_later(backend_, ordinal_, peer.inbox);
  }
}

Result<std::vector<std::byte>> DeviceLanes::offer() const {
  Invitation invitation;
  invitation.process = process_token();
  invitation.address = Inboxes::address(*inbox_);
  invitation.ordinal = ordinal_;
  invitation.bytes = plan_.bytes;
  // Where that is not possible, ranks of this process need no handle, and others refuse this one.
  if (shape_.world > 1) (void)backend_.ipc_export(ordinal_, inbox_->data(), &invitation.handle);
  std::vector<std::byte> bytes(sizeof invitation);
  std::memcpy(bytes.data(), &invitation, sizeof invitation);
  return bytes;
}

Result<DeviceLanes::Peer> DeviceLanes::reach(std::span<const std::byte> bytes) const {
  Invitation invitation;
  if (bytes.size() != sizeof invitation) {
    return Error{Status::internal, fmt::format("an offer of {} bytes", bytes.size())};
  }
  std::memcpy(&invitation, bytes.data(), sizeof invitation);
  if (invitation.bytes != plan_.bytes) {
    return Error{Status::internal, fmt::format("an inbox of {} bytes where this rank has {}",
                                               invitation.bytes, plan_.bytes)};
  }
  Peer peer;
  if (invitation.process == process_token()) {
    peer.shared = Inboxes::of_process().at(invitation.address);
    if (peer.shared == nullptr) return Error{Status::peer_lost, "the rank is gone"};
    const int other = static_cast<int>(invitation.ordinal);
    if (other != ordinal_ && backend_.peer_access(ordinal_, other) != gyreSuccess) {
      return device_error(backend_, ordinal_, fmt::format("reaching device {}", other));
    }
    peer.inbox = peer.shared->data();
    return peer;
  }
  void* pointer = nullptr;
  if (backend_.ipc_import(ordinal_, &invitation.handle, &pointer) != gyreSuccess) {
    return device_error(backend_, ordinal_, "mapping memory of another process");
  }
  peer.inbox = static_cast<std::byte*>(pointer);
  peer.imported = true;
  return peer;
}

Result<void> DeviceLanes::connect(std::span<const std::vector<std::byte>> offers) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (static_cast<int>(rank) == rank_) {
      peers_[rank] = {inbox_->data(), inbox_, false};
      continue;
    }
    auto peer = reach(offers[rank]);
    if (!peer) {
      return Error{peer.error().status,
                   fmt::format("rank {} cannot reach the device memory of rank {}: {}", rank_, rank,
                               peer.error().text)};
    }
    peers_[rank] = *peer;
  }
  return write_tables();
}

Result<void> DeviceLanes::copy_in(std::size_t at, const void* from, std::size_t bytes) const {
  if (backend_.copy(ordinal_, inbox_->data() + at, from, bytes) == gyreSuccess) return {};
  return device_error(backend_, ordinal_, "copying to the device");
}

// The lane of a channel from `sender` to `receiver`, whose inbox is `inbox`; `credits` is the
// sender's inbox.
LaneView DeviceLanes::lane(std::byte* inbox, std::byte* credits, std::uint32_t channel, int sender,
                           int receiver) const {
  const std::size_t in = std::size_t{channel} * shape_.world + static_cast<std::size_t>(sender);
  const std::size_t out = std::size_t{channel} * shape_.world + static_cast<std::size_t>(receiver);
  LaneView view;
  view.headers = reinterpret_cast<SlotHeader*>(inbox + plan_.headers) + in * shape_.slots;
  view.data = inbox + plan_.data + in * shape_.slots * shape_.slot_bytes;
  view.credit = reinterpret_cast<LaneCredit*>(credits + plan_.credits) + out;
  view.slots = shape_.slots;
  view.slot_bytes = shape_.slot_bytes;
  return view;
}

Result<void> DeviceLanes::write_tables() const {
  std::vector<device::LanePair> pairs(std::size_t{shape_.channels} * shape_.world);
  std::vector<std::uint8_t> refers(shape_.world, 0);
  for (std::uint32_t peer = 0; peer < shape_.world; ++peer) {
    const int other = static_cast<int>(peer);
    std::byte* theirs = peers_[peer].inbox;
    for (std::uint32_t channel = 0; channel < shape_.channels; ++channel) {
      device::LanePair& pair = pairs[std::size_t{channel} * shape_.world + peer];
      pair.send = lane(theirs, inbox_->data(), channel, rank_, other);
      pair.receive = lane(inbox_->data(), theirs, channel, other, rank_);
    }
    // Kernels keep track of so many references at most.
    refers[peer] = peers_[peer].shared != nullptr && shape_.world <= device::kMostPeers ? 1 : 0;
  }
  GYRE_TRY(copy_in(plan_.lanes, pairs.data(), pairs.size() * sizeof pairs[0]));
  return copy_in(plan_.refers, refers.data(), refers.size());
}

Result<void> DeviceLanes::probe() {
  for (std::uint32_t peer = 0; peer < shape_.world; ++peer) {
    const std::uint64_t number = probe_of(rank_, static_cast<int>(peer));
    std::byte* to =
        peers_[peer].inbox + plan_.probes + static_cast<std::size_t>(rank_) * sizeof number;
    if (backend_.copy(ordinal_, to, &number, sizeof number) != gyreSuccess) {
      return device_error(backend_, ordinal_, fmt::format("writing to rank {}'s memory", peer));
    }
  }
  return {};
}

Result<void> DeviceLanes::probed() const {
  std::vector<std::uint64_t> numbers(shape_.world);
  if (backend_.copy(ordinal_, numbers.data(), inbox_->data() + plan_.probes,
                    numbers.size() * sizeof numbers[0]) != gyreSuccess) {
    return device_error(backend_, ordinal_, "reading what peers wrote");
  }
  for (std::uint32_t peer = 0; peer < shape_.world; ++peer) {
    if (numbers[peer] == probe_of(static_cast<int>(peer), rank_)) continue;
    return Error{Status::system,
                 fmt::format("what rank {} wrote to the device memory of rank {} did not arrive: "
                             "their devices do not reach each other",
                             peer, rank_)};
  }
  return {};
}

Result<void> DeviceLanes::write_posting(const Board& own, std::size_t index) const {
  const std::size_t at = offsetof(Board, postings) + index * sizeof(Posting);
  return copy_in(plan_.board + at, &own.postings[index], sizeof(Posting));
}

Result<void> DeviceLanes::write_board(const Board& own) const {
  return copy_in(plan_.board, &own, sizeof own);
}

Result<void> DeviceLanes::write_edition(const Board& own) const {
  return copy_in(plan_.board + offsetof(Board, edition), &own.edition, sizeof own.edition);
}

Result<void> DeviceLanes::copy_out(int peer, std::size_t at, void* to, std::size_t bytes) const {
  const std::byte* from = peers_[static_cast<std::size_t>(peer)].inbox + at;
  if (backend_.copy(ordinal_, to, from, bytes) == gyreSuccess) return {};
  return device_error(backend_, ordinal_, fmt::format("reading rank {}'s memory", peer));
}

Result<void> DeviceLanes::read_board(int peer, Board& board) const {
  return copy_out(peer, plan_.board, &board, sizeof board);
}

Result<std::uint64_t> DeviceLanes::read_edition(int peer) const {
  std::uint64_t edition = 0;
  GYRE_TRY(copy_out(peer, plan_.board + offsetof(Board, edition), &edition, sizeof edition));
  return edition;
}

Result<void> DeviceLanes::write_mapping(int peer, std::size_t place,
                                        const device::Mapping& mapping) const {
  const std::size_t row = static_cast<std::size_t>(peer) * device::kMappings;
  return copy_in(plan_.mappings + (row + place) * sizeof mapping, &mapping, sizeof mapping);
}

bool DeviceLanes::one_process() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.shared != nullptr; });
}

device::Inboxes DeviceLanes::inboxes() const {
  device::Inboxes inboxes;
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    inboxes.of[peer] = peers_[peer].inbox + plan_.exchange;
  }
  return inboxes;
}

void DeviceLanes::describe(device::Rank& rank) const {
  std::byte* inbox = inbox_->data();
  rank.rank = static_cast<std::uint32_t>(rank_);
  rank.world = shape_.world;
  rank.channels = shape_.channels;
  rank.lanes = reinterpret_cast<const device::LanePair*>(inbox + plan_.lanes);
  rank.ends = reinterpret_cast<device::Ends*>(inbox + plan_.ends);
  rank.tokens = reinterpret_cast<device::Tokens*>(inbox + plan_.tokens);
  rank.refers = reinterpret_cast<const std::uint8_t*>(inbox + plan_.refers);
  rank.exchange.inbox = inbox + plan_.exchange;
  rank.exchange.counts = reinterpret_cast<std::uint64_t*>(inbox + plan_.counts);
  rank.mappings.table = reinterpret_cast<const device::Mapping*>(inbox + plan_.mappings);
  rank.mappings.shifts = reinterpret_cast<device::Shifts*>(inbox + plan_.shifts);
  rank.mappings.ended = reinterpret_cast<std::uint32_t*>(inbox + plan_.ended);
  rank.reporting = reinterpret_cast<std::uint32_t*>(inbox + plan_.reporting);
}

}  // namespace gyre
