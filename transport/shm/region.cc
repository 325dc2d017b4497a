#include "transport/shm/region.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory.hpp"

namespace gyre {
namespace {

// Sorted by begin. Read under the sequence lock, so every field is atomic; a torn read is thrown
// away when the sequence has changed.
struct TableEntry {
  std::atomic<std::uint64_t> begin{0}, end{0}, id{0};
};

struct Table {
  explicit Table(std::size_t capacity) : entries(capacity) {}
  std::vector<TableEntry> entries;
  std::atomic<std::size_t> size{0};
};

struct Region {
  Fd segment;  // empty: private memory
  Mapping memory;
  std::uint64_t id = 0;  // 0: peers cannot map it
};

class Registry {
 public:
  // Lives until the process ends: memory may be freed by destructors of static objects.
  static Registry& instance() {
    static auto* registry = new Registry();
    return *registry;
  }

  Result<void*> alloc(std::size_t bytes);
  Result<void> free(void* address);
  void leave(void* address);
  std::optional<RegionRef> find(std::uint64_t begin, std::uint64_t bytes) const;
  Fd descriptor(std::uint64_t id);
  std::uint64_t watch(std::function<void(std::uint64_t)> freed);
  void unwatch(std::uint64_t key);

 private:
  Registry() {
    tables_.push_back(std::make_unique<Table>(64));
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  void reserve();
  void publish();
  // Out of the table; an empty region if there is none. Unmapped where the result ends.
  Region take(void* address);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Region> regions_;  // by address
  std::uint64_t next_id_ = 1;
  // Every table ever published: a reader may still hold an old one. Sizes double, so all of them
  // together are at most twice the largest.
  std::vector<std::unique_ptr<Table>> tables_;
  std::unique_ptr<Table> next_table_;  // made by reserve(), taken by publish()
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::uint64_t> sequence_{0};  // odd while the table is being rewritten

  std::mutex watch_mutex_;  // held while the functions run
  std::map<std::uint64_t, std::function<void(std::uint64_t)>> watches_;
  std::uint64_t next_watch_ = 1;
};

// Makes room for all of regions_, under the mutex; whatever fails for lack of memory fails here.
void Registry::reserve() {
  std::size_t shared = 0;
  for (const auto& [address, region] : regions_) shared += region.id != 0 ? 1 : 0;
  if (shared <= tables_.back()->entries.size()) return;
  tables_.reserve(tables_.size() + 1);
  next_table_ = std::make_unique<Table>(tables_.back()->entries.size() * 2);
}

// Rewrites the table from regions_, under the mutex, after reserve(). Nothing fails between the two
// steps of the sequence: readers wait for the second.
void Registry::publish() {
  sequence_.fetch_add(1, std::memory_order_acq_rel);
  if (next_table_) {
    tables_.push_back(std::move(next_table_));
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  Table& table = *tables_.back();
  // Release stores: a reader that sees one of them also sees the odd sequence.
  std::size_t i = 0;
  for (const auto& [address, region] : regions_) {
    if (region.id == 0) continue;
    table.entries[i].begin.store(address, std::memory_order_release);
    table.entries[i].end.store(address + region.memory.size(), std::memory_order_release);
    table.entries[i].id.store(region.id, std::memory_order_release);
    ++i;
  }
  table.size.store(i, std::memory_order_release);
  sequence_.fetch_add(1, std::memory_order_release);
}

std::optional<RegionRef> Registry::find(std::uint64_t begin, std::uint64_t bytes) const {
  for (;;) {
    const std::uint64_t sequence = sequence_.load(std::memory_order_acquire);
    const Table& table = *table_.load(std::memory_order_acquire);
    std::size_t low = 0;
    std::size_t high = std::min(table.size.load(std::memory_order_acquire), table.entries.size());
    while (low < high) {  // first entry with end > begin
      const std::size_t middle = (low + high) / 2;
      if (table.entries[middle].end.load(std::memory_order_acquire) > begin) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    std::optional<RegionRef> found;
    if (low < table.entries.size() && low < table.size.load(std::memory_order_acquire)) {
      const TableEntry& entry = table.entries[low];
      const std::uint64_t first = entry.begin.load(std::memory_order_acquire);
      const std::uint64_t last = entry.end.load(std::memory_order_acquire);
      if (begin >= first && begin < last && bytes <= last - begin) {
        found = RegionRef{entry.id.load(std::memory_order_acquire), begin - first, last - first};
      }
    }
    // The loads above are acquire, so this one cannot move before them. A writer holds the lock
    // for the rewrite of a small table only, and allocation is rare: retries are bounded in effect.
    if ((sequence & 1) == 0 && sequence_.load(std::memory_order_acquire) == sequence) return found;
  }
}

Result<void*> Registry::alloc(std::size_t bytes) {
  // Rounded up to pages, the largest numbers would become small ones.
  if (bytes > std::numeric_limits<std::size_t>::max() - page_size()) {
    return Error{Status::system, fmt::format("out of memory: {} bytes were asked for", bytes)};
  }
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), page_size());
  Region region;
  if (auto segment = create_segment(size)) {
    if (auto memory = Mapping::shared(*segment, size)) {
      region = Region{*std::move(segment), *std::move(memory), 1};
    }
  }
  if (!region.memory) {
    GYRE_TRY_ASSIGN(region.memory, Mapping::anonymous(size));
  }
  void* address = region.memory.data();
  const std::lock_guard lock(mutex_);
  if (region.id != 0) region.id = next_id_++;
  const auto [place, _] =
      regions_.emplace(reinterpret_cast<std::uint64_t>(address), std::move(region));
  try {
    reserve();
  } catch (...) {
    regions_.erase(place);
    throw;
  }
  publish();
  return address;
}

Region Registry::take(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(reinterpret_cast<std::uint64_t>(address));
  if (found == regions_.end()) return {};
  Region region = std::move(found->second);
  regions_.erase(found);
  publish();
  return region;
}

void Registry::leave(void* address) { (void)take(address); }

Result<void> Registry::free(void* address) {
  if (address == nullptr) return {};
  const Region region = take(address);  // unmapped last, after everybody was told
  if (!region.memory) {
    return Error{
        Status::invalid_argument,
        fmt::format("{} was not allocated by ncclMemAlloc, or was freed already", address)};
  }
  if (region.id != 0) {
    const std::lock_guard lock(watch_mutex_);
    for (const auto& [key, freed] : watches_) freed(region.id);
    // Gives the pages back now, not when the last peer has unmapped them.
    ::fallocate(region.segment.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(region.memory.size()));
  }
  return {};
}

Fd Registry::descriptor(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, region] : regions_) {
    if (region.id == id) return Fd(::fcntl(region.segment.get(), F_DUPFD_CLOEXEC, 0));
  }
  return {};
}

std::uint64_t Registry::watch(std::function<void(std::uint64_t)> freed) {
  const std::lock_guard lock(watch_mutex_);
  watches_.emplace(next_watch_, std::move(freed));
  return next_watch_++;
}

void Registry::unwatch(std::uint64_t key) {
  const std::lock_guard lock(watch_mutex_);
  watches_.erase(key);
}

}  // namespace

Result<void*> region_alloc(std::size_t bytes) { return Registry::instance().alloc(bytes); }
Result<void> region_free(void* address) { return Registry::instance().free(address); }
void region_leave(void* address) { Registry::instance().leave(address); }
Fd region_descriptor(std::uint64_t id) { return Registry::instance().descriptor(id); }

std::optional<RegionRef> region_find(const void* data, std::uint64_t bytes) {
  return Registry::instance().find(reinterpret_cast<std::uint64_t>(data), bytes);
}

RegionWatch::RegionWatch(std::function<void(std::uint64_t)> freed)
    : key_(Registry::instance().watch(std::move(freed))) {}
RegionWatch::~RegionWatch() { Registry::instance().unwatch(key_); }

}  // namespace gyre
