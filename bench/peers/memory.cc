// ncclMemAlloc for libraries that know no such memory: pages as large as there are.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "bench/peers/peer.hpp"

namespace gyre::peers {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

void* allocate(std::size_t bytes) {
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, whole);
  if (memory == nullptr) throw std::bad_alloc();
  // Only a wish: small pages do as well.
  static_cast<void>(madvise(memory, whole, MADV_HUGEPAGE));
  return memory;
}

void release(void* memory) { std::free(memory); }

}  // namespace gyre::peers
