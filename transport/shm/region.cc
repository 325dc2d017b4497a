#include "transport/shm/region.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/contain.hpp"
#include "base/memory.hpp"
#include "base/memory_file.hpp"
#include "base/process.hpp"
#include "transport/shm/commit_budget.hpp"

namespace gyre {
namespace {

// Sorted by begin. Read under the sequence lock, so every field is atomic; a torn read is thrown
// away when the sequence has changed.
struct TableEntry {
  std::atomic<std::uint64_t> begin{0}, end{0}, id{0};
};

// Each takes a descriptor here, and a mapping in every peer.
constexpr std::size_t kMostHeld = 4096;
// What this process may need besides before it is out of descriptors.
constexpr std::size_t kSpareDescriptors = 64;

struct Table {
  explicit Table(std::size_t capacity) : entries(capacity) {}
  std::vector<TableEntry> entries;
  std::atomic<std::size_t> size{0};
};

struct Region {
  std::uint64_t end = 0;
  Fd file;         // empty: private memory
  Mapping memory;  // empty: the user's
  std::size_t committed = 0;
  std::uint64_t id = 0;  // 0: peers cannot map it
  // Of the user's memory:
  std::uint64_t offset = 0;  // in the file, of the page in which the region begins
  std::uint64_t device = 0, inode = 0;
  int holds = 0;
};

// From here on memory is given in whole huge pages, as devices' memory is.
constexpr std::size_t kWholeHugePages = kHugePage / 2;

std::uint64_t page_of(std::uint64_t address) { return address & ~(page_size() - 1); }

// Whether the file is at this address what it is in the region.
bool continues(std::uint64_t begin, const Region& region, std::uint64_t address,
               const MemoryFile& file) {
  return region.holds > 0 && region.device == file.device && region.inode == file.inode &&
         region.offset - page_of(begin) == file.offset - page_of(address);
}

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
  std::uint64_t hold(std::uint64_t begin, std::uint64_t bytes);
  void release(std::uint64_t id);
  std::optional<RegionRef> find(std::uint64_t begin, std::uint64_t bytes) const;
  RegionFile file(std::uint64_t id);
  std::uint64_t watch(RegionWatch::Gone gone);
  void unwatch(std::uint64_t key);

 private:
  Registry() {
    tables_.push_back(std::make_unique<Table>(64));
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  using Regions = std::map<std::uint64_t, Region>;  // by address; none touches another

  void reserve();
  void publish();
  void insert(std::uint64_t begin, Region region);
  // Out of the table; an empty region if there is none. Unmapped where the result ends.
  Region take(void* address);
  // The first region that ends behind `begin`.
  Regions::iterator first_at(std::uint64_t begin);
  bool touches_allocated(std::uint64_t begin, std::uint64_t end);
  std::uint64_t hold_again(std::uint64_t begin, std::uint64_t end, const MemoryFile& file);
  // Takes those out that are held and reach into the range; tell() of them without the mutex.
  std::vector<std::uint64_t> drop_held(std::uint64_t begin, std::uint64_t end);
  void tell(std::span<const std::uint64_t> ids, RegionEnd when);

  mutable std::mutex mutex_;
  Regions regions_;
  std::size_t held_ = 0;
  CommitBudget budget_;
  std::uint64_t next_id_ = 1;
  // Every table ever published: a reader may still hold an old one. Sizes double, so all of them
  // together are at most twice the largest.
  std::vector<std::unique_ptr<Table>> tables_;
  std::unique_ptr<Table> next_table_;  // made by reserve(), taken by publish()
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::uint64_t> sequence_{0};  // odd while the table is being rewritten

  std::mutex watch_mutex_;  // held while the functions run
  std::map<std::uint64_t, RegionWatch::Gone> watches_;
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
    table.entries[i].end.store(region.end, std::memory_order_release);
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
        const std::uint64_t page = page_of(first);
        found = RegionRef{entry.id.load(std::memory_order_acquire), begin - page, last - page};
      }
    }
    // The loads above are acquire, so this one cannot move before them. A writer holds the lock
    // for the rewrite of a small table only, and allocation is rare: retries are bounded in effect.
    if ((sequence & 1) == 0 && sequence_.load(std::memory_order_acquire) == sequence) return found;
  }
}

Result<void*> Registry::alloc(std::size_t bytes) {
  // Rounded up to pages, the largest numbers would become small ones.
  if (bytes > std::numeric_limits<std::size_t>::max() - kHugePage) {
    return Error{Status::system, fmt::format("out of memory: {} bytes were asked for", bytes)};
  }
  const std::size_t unit = bytes >= kWholeHugePages ? kHugePage : page_size();
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), unit);
  Region region;
  if (auto segment = create_segment(size)) {
    if (auto memory = Mapping::shared(*segment, size)) {
      region.file = *std::move(segment);
      region.memory = *std::move(memory);
      if (size >= kHugePage && budget_.take(size)) {
        region.committed = size;
        region.memory.commit_huge_pages();
      }
    }
  }
  if (!region.memory) {
    GYRE_TRY_ASSIGN(region.memory, Mapping::anonymous(size));
  }
  void* address = region.memory.data();
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  region.end = begin + size;
  std::vector<std::uint64_t> stale;
  {
    const std::lock_guard lock(mutex_);
    stale = drop_held(begin, region.end);
    if (region.file) region.id = next_id_++;
    insert(begin, std::move(region));
  }
  tell(stale, RegionEnd::between_calls);
  return address;
}

// Under the mutex; with its memory if it cannot be done.
void Registry::insert(std::uint64_t begin, Region region) {
  const auto [place, _] = regions_.emplace(begin, std::move(region));
  try {
    reserve();
  } catch (...) {
    regions_.erase(place);
    throw;
  }
  publish();
}

Region Registry::take(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(reinterpret_cast<std::uint64_t>(address));
  if (found == regions_.end() || found->second.holds > 0) return {};
  Region region = std::move(found->second);
  regions_.erase(found);
  budget_.give_back(region.committed);
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
    tell(std::span(&region.id, 1), RegionEnd::at_once);
    // Gives the pages back now, not when the last peer has unmapped them.
    ::fallocate(region.file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(region.memory.size()));
  }
  return {};
}

Registry::Regions::iterator Registry::first_at(std::uint64_t begin) {
  auto found = regions_.upper_bound(begin);
  if (found != regions_.begin() && std::prev(found)->second.end > begin) --found;
  return found;
}

bool Registry::touches_allocated(std::uint64_t begin, std::uint64_t end) {
  for (auto one = first_at(begin); one != regions_.end() && one->first < end; ++one) {
    if (one->second.holds == 0) return true;
  }
  return false;
}

std::uint64_t Registry::hold_again(std::uint64_t begin, std::uint64_t end, const MemoryFile& file) {
  const auto found = first_at(begin);
  if (found == regions_.end() || found->first > begin || found->second.end < end) return 0;
  if (!continues(found->first, found->second, begin, file)) return 0;
  ++found->second.holds;
  return found->second.id;
}

std::vector<std::uint64_t> Registry::drop_held(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint64_t> dropped;
  for (auto one = first_at(begin); one != regions_.end() && one->first < end; ++one) {
    if (one->second.holds > 0) dropped.push_back(one->second.id);
  }
  if (dropped.empty()) return dropped;
  std::erase_if(regions_, [&](const auto& one) {
    return std::find(dropped.begin(), dropped.end(), one.second.id) != dropped.end();
  });
  held_ -= dropped.size();
  publish();
  return dropped;
}

void Registry::tell(std::span<const std::uint64_t> ids, RegionEnd when) {
  const std::lock_guard lock(watch_mutex_);
  for (const std::uint64_t id : ids) {
    for (const auto& [key, gone] : watches_) gone(id, when);
  }
}

std::uint64_t Registry::hold(std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t end = begin + bytes;
  if (end <= begin) return 0;
  {
    const std::lock_guard lock(mutex_);
    if (touches_allocated(begin, end)) return 0;
  }
  auto file = open_memory_file(reinterpret_cast<const void*>(begin), bytes);
  if (file && !ensure_descriptors(kSpareDescriptors)) file.reset();
  std::vector<std::uint64_t> dropped;
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (file) id = hold_again(begin, end, *file);
    if (id != 0) return id;
    // What it reaches into without being a part of it, or of another file, is there no more; or is
    // less than this, and then as good as other memory.
    dropped = drop_held(begin, end);
    if (file && held_ < kMostHeld && !touches_allocated(begin, end)) {
      id = next_id_++;
      insert(begin, Region{.end = end,
                           .file = std::move(file->file),
                           .memory = {},
                           .id = id,
                           .offset = file->offset,
                           .device = file->device,
                           .inode = file->inode,
                           .holds = 1});
      ++held_;
    }
  }
  tell(dropped, RegionEnd::between_calls);
  return id;
}

void Registry::release(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(regions_.begin(), regions_.end(),
                                    [id](const auto& one) { return one.second.id == id; });
    if (found == regions_.end() || --found->second.holds > 0) return;
    regions_.erase(found);
    --held_;
    publish();
  }
  tell(std::span(&id, 1), RegionEnd::between_calls);
}

RegionFile Registry::file(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, region] : regions_) {
    if (region.id != id) continue;
    return {Fd(::fcntl(region.file.get(), F_DUPFD_CLOEXEC, 0)), region.offset};
  }
  return {};
}

std::uint64_t Registry::watch(RegionWatch::Gone gone) {
  const std::lock_guard lock(watch_mutex_);
  watches_.emplace(next_watch_, std::move(gone));
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
RegionFile region_file(std::uint64_t id) { return Registry::instance().file(id); }

RegionHold region_hold(const void* data, std::uint64_t bytes) {
  return RegionHold(Registry::instance().hold(reinterpret_cast<std::uint64_t>(data), bytes));
}
RegionHold::~RegionHold() {
  if (id_ == 0) return;
  // Without memory peers are not told, and keep their mapping.
  (void)contained("", [this]() -> Result<void> {
    Registry::instance().release(id_);
    return {};
  });
}

std::optional<RegionRef> region_find(const void* data, std::uint64_t bytes) {
  return Registry::instance().find(reinterpret_cast<std::uint64_t>(data), bytes);
}

RegionWatch::RegionWatch(Gone gone) : key_(Registry::instance().watch(std::move(gone))) {}
RegionWatch::~RegionWatch() { Registry::instance().unwatch(key_); }

}  // namespace gyre
