#include "exec/outbox.hpp"

#include <algorithm>

#include "transport/shm/region.hpp"

namespace gyre {

Outbox::Outbox(std::uint32_t slots, std::uint64_t slot_bytes, std::size_t links)
    : slot_bytes_(slot_bytes), readers_(slots) {
  for (auto& readers : readers_) readers.reserve(links);
}

Outbox::~Outbox() {
  if (memory_ == nullptr) return;
  if (all_read()) {
    (void)region_free(memory_);
  } else {
    region_leave(memory_);
  }
}

bool Outbox::read_by_all(const std::vector<Reader>& readers) {
  return std::all_of(readers.begin(), readers.end(),
                     [](const Reader& one) { return one.link->send.taken(one.until); });
}

bool Outbox::all_read() const { return std::all_of(readers_.begin(), readers_.end(), read_by_all); }

bool Outbox::allocate() {
  if (memory_ != nullptr || refused_) return !refused_;
  const auto memory = region_alloc(readers_.size() * slot_bytes_);
  refused_ = !memory;
  if (memory) memory_ = static_cast<std::byte*>(*memory);
  return !refused_;
}

std::byte* Outbox::take() {
  if (!read_by_all(readers_[next_]) || !allocate()) return nullptr;
  latest_ = next_;
  next_ = (next_ + 1) % readers_.size();
  readers_[latest_].clear();
  return memory_ + latest_ * slot_bytes_;
}

void Outbox::sent(Link& link) { readers_[latest_].push_back({&link, link.send.position() + 1}); }

}  // namespace gyre
