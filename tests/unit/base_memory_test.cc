#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/memory.hpp"

namespace gyre {
namespace {

constexpr std::size_t kBytes = 2 * kHugePage;

// Of this process's mapping that begins at `begin`; -1 if the kernel does not say.
std::int64_t kib_in_huge_pages(const void* begin) {
  std::ifstream file("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find('-');
    const std::size_t colon = line.find(':');
    if (dash != std::string::npos && (colon == std::string::npos || dash < colon)) {
      here = std::stoull(line, nullptr, 16) == reinterpret_cast<std::uintptr_t>(begin);
    } else if (here && line.starts_with("ShmemPmdMapped:")) {
      return std::stoll(line.substr(line.find(':') + 1));
    }
  }
  return -1;
}

TEST(SharedMapping, LiesWhereHugePagesOfTheFileCanBe) {
  const Fd segment = create_segment(3 * kHugePage + 1).value();
  for (const std::size_t bytes : {kHugePage, kHugePage + 1, 3 * kHugePage + 1}) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{kHugePage}}) {
      const Mapping memory = Mapping::shared(segment, bytes, offset).value();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePage, 0U) << bytes;
    }
  }
}

TEST(SharedMapping, SmallAndOddOnesAreMappedToo) {
  const Fd segment = create_segment(kHugePage + 2 * page_size()).value();
  const Mapping whole = Mapping::shared(segment, kHugePage + 2 * page_size()).value();
  whole.data()[page_size()] = std::byte{1};
  const Mapping page = Mapping::shared(segment, page_size(), page_size()).value();
  const Mapping rest = Mapping::shared(segment, kHugePage, page_size()).value();
  EXPECT_EQ(page.data()[0], std::byte{1});
  EXPECT_EQ(rest.data()[0], std::byte{1});
}

TEST(SharedMapping, CommittedMemoryIsZeroAndTheSegmentsOwn) {
  const std::size_t odd = kBytes + page_size();
  const Fd segment = create_segment(odd).value();
  const Mapping memory = Mapping::shared(segment, odd).value();
  memory.commit_huge_pages();
  EXPECT_TRUE(std::all_of(memory.data(), memory.data() + odd,
                          [](std::byte one) { return one == std::byte{0}; }));
  const Mapping again = Mapping::shared(segment, odd).value();
  for (std::size_t at = 0; at < odd; at += page_size()) memory.data()[at] = std::byte{7};
  for (std::size_t at = 0; at < odd; at += page_size()) ASSERT_EQ(again.data()[at], std::byte{7});
}

// A kernel that can do it, asked in the plainest way.
bool collapses() {
  const Fd segment = create_segment(kBytes).value();
  const Mapping memory = Mapping::shared(segment, kBytes).value();
  std::fill_n(memory.data(), kBytes, std::byte{1});
  constexpr int kCollapse = 25;
  return ::madvise(memory.data(), kBytes, kCollapse) == 0 && kib_in_huge_pages(memory.data()) > 0;
}

TEST(SharedMapping, CommittedMemoryIsInHugePages) {
  if (!collapses()) GTEST_SKIP() << "this kernel makes no huge pages of shared memory when asked";
  const Fd segment = create_segment(kBytes).value();
  const Mapping memory = Mapping::shared(segment, kBytes).value();
  EXPECT_EQ(kib_in_huge_pages(memory.data()), 0);
  memory.commit_huge_pages();
  EXPECT_EQ(kib_in_huge_pages(memory.data()), static_cast<std::int64_t>(kBytes >> 10));
  // A peer's mapping has them when it is touched.
  const Mapping peer = Mapping::shared(segment, kBytes).value();
  for (std::size_t at = 0; at < kBytes; at += kHugePage) peer.data()[at] = std::byte{1};
  EXPECT_EQ(kib_in_huge_pages(peer.data()), static_cast<std::int64_t>(kBytes >> 10));
}

// Of such a file the kernel maps whole huge pages, however little was asked for: what lies behind
// the mapping must stay what it is.
TEST(SharedMapping, FilesOfHugePagesReplaceNothing) {
  const Fd file(::memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB));
  if (!file || ::ftruncate(file.get(), 4 * kHugePage) != 0) {
    GTEST_SKIP() << "no huge pages of hugetlbfs here";
  }
  std::vector<Mapping> others, mapped;
  for (int i = 0; i < 8; ++i) {
    others.push_back(Mapping::reserved(5 * page_size()).value());
    others.back().data()[0] = std::byte{5};
    if (auto one = Mapping::shared(file, kHugePage + page_size())) {
      mapped.push_back(*std::move(one));
    }
    for (const Mapping& other : others) ASSERT_EQ(other.data()[0], std::byte{5});
  }
  if (mapped.empty()) GTEST_SKIP() << "the pool of hugetlbfs is empty here";
}

TEST(SharedMapping, LittleMemoryIsLeftAlone) {
  const Fd segment = create_segment(page_size()).value();
  const Mapping memory = Mapping::shared(segment, page_size()).value();
  memory.commit_huge_pages();
  EXPECT_EQ(memory.data()[0], std::byte{0});
  Mapping().commit_huge_pages();
}

}  // namespace
}  // namespace gyre
