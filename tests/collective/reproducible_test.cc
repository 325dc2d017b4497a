// GYRE_REPRODUCIBLE=1: the bits of a result depend on the inputs, the count of ranks, the type and
// the operation, and on nothing else.
#include <cstring>
#include <random>

#include "tests/collective/forked.hpp"
#include "tests/collective/ranks.hpp"
#include "tests/collective/values.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 3;
constexpr std::size_t kCount = 9'000;  // a multiple of the world
constexpr ncclDataType_t kFloats[] = {ncclFloat32,    ncclFloat16,    ncclBfloat16,
                                      ncclFloat8e4m3, ncclFloat8e5m2, ncclFloat64};

// Random bits with the exponent's upper half taken from 1.0, so that sums round and stay finite.
std::vector<std::byte> random_floats(std::uint64_t seed, int rank, ncclDataType_t type) {
  struct Layout {
    int mantissa;
    std::uint64_t one;
  };
  const auto layout = [type]() -> Layout {
    switch (type) {
      case ncclFloat32:
        return {23, 0x3f800000};
      case ncclFloat16:
        return {10, 0x3c00};
      case ncclBfloat16:
        return {7, 0x3f80};
      case ncclFloat8e4m3:
        return {3, 0x38};
      case ncclFloat8e5m2:
        return {2, 0x3c};
      default:
        return {52, 0x3ff0000000000000};
    }
  }();
  const std::size_t element = size_of(type);
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(rank));
  std::vector<std::byte> bytes(kCount * element);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint64_t draw = random();
    const std::uint64_t mantissa = draw & ((std::uint64_t{1} << layout.mantissa) - 1);
    const std::uint64_t exponent = (draw >> 60 & 3) << layout.mantissa;  // 1 to 1/8
    const std::uint64_t sign = (draw >> 63) << (8 * element - 1);
    const std::uint64_t bits = (layout.one - exponent) | mantissa | sign;
    std::memcpy(bytes.data() + i * element, &bits, element);
  }
  return bytes;
}

struct Job {
  ncclComm_t comm;
  int rank;
  ncclDataType_t type;
  ncclRedOp_t op;
  std::vector<std::byte> input;

  std::size_t bytes() const { return input.size(); }
  // All-reduces elements [first, first + count) from the input into `output`, `shift` bytes off.
  bool reduce_part(std::vector<std::byte>& output, std::size_t first, std::size_t count,
                   std::size_t shift) const {
    const std::size_t element = size_of(type);
    std::vector<std::byte> given(count * element + shift), found(count * element + shift);
    std::memcpy(given.data() + shift, input.data() + first * element, count * element);
    if (!ok(ncclAllReduce(given.data() + shift, found.data() + shift, count, type, op, comm,
                          nullptr))) {
      return false;
    }
    std::memcpy(output.data() + first * element, found.data() + shift, count * element);
    return true;
  }
  std::vector<std::byte> in_parts(const std::vector<std::size_t>& parts, std::size_t shift) const {
    std::vector<std::byte> output(bytes());
    std::size_t first = 0;
    for (std::size_t i = 0; first < kCount; ++i) {
      const std::size_t count = std::min(parts[i % parts.size()], kCount - first);
      if (!reduce_part(output, first, count, shift)) return {};
      first += count;
    }
    return output;
  }
  std::vector<std::byte> by_reduce() const {
    std::vector<std::byte> output(bytes());
    if (!ok(ncclReduce(input.data(), output.data(), kCount, type, op, 1, comm, nullptr)) ||
        !ok(ncclBroadcast(output.data(), output.data(), kCount, type, 1, comm, nullptr))) {
      return {};
    }
    return output;
  }
  std::vector<std::byte> by_reduce_scatter() const {
    std::vector<std::byte> output(bytes());
    const std::size_t part = bytes() / kWorld;
    std::byte* const own = output.data() + static_cast<std::size_t>(rank) * part;
    if (!ok(ncclReduceScatter(input.data(), own, kCount / kWorld, type, op, comm, nullptr)) ||
        !ok(ncclAllGather(own, output.data(), kCount / kWorld, type, comm, nullptr))) {
      return {};
    }
    return output;
  }
};

// Runs every way to reduce the same inputs; the first one's bits go to `results`. Returns what
// differed, or nothing.
std::string all_ways(ncclComm_t comm, int rank, std::uint64_t seed, std::byte* results) {
  for (const ncclDataType_t type : kFloats) {
    for (const ncclRedOp_t op : {ncclSum, ncclAvg}) {
      const Job job{comm, rank, type, op, random_floats(seed, rank, type)};
      const std::vector<std::byte> whole = job.in_parts({kCount}, 0);
      if (whole.empty()) return ncclGetLastError(nullptr);
      const std::pair<const char*, std::vector<std::byte>> ways[] = {
          {"parts of one slot", job.in_parts({1024, 4096, 300}, 0)},
          {"odd parts", job.in_parts({1, 7, 101, 6007, 13}, 0)},
          {"shifted by 3 bytes", job.in_parts({kCount / 2 + 1}, 3)},
          {"reduce", job.by_reduce()},
          {"reduce-scatter", job.by_reduce_scatter()},
          {"the whole again", job.in_parts({kCount}, 0)},
      };
      for (const auto& [what, found] : ways) {
        if (found != whole) {
          return std::string(what) + " gives other bits for " + name_of(type) + ", operation " +
                 std::to_string(op);
        }
      }
      std::memcpy(results, whole.data(), whole.size());
      results += whole.size();
    }
  }
  return "";
}

std::size_t results_bytes() {
  std::size_t bytes = 0;
  for (const ncclDataType_t type : kFloats) bytes += kCount * size_of(type);
  return 2 * bytes;  // sums and averages
}

// A world of threads in a process with this environment. `results`: of all ranks.
int run_world(const Environment& environment, std::uint64_t seed, std::byte* results) {
  apply(environment);
  ::setenv("GYRE_REPRODUCIBLE", "1", 1);
  const ncclUniqueId id = new_id();
  std::atomic<int> failed{0};
  on_threads(kWorld, [&](int rank) {
    ncclComm_t comm = nullptr;
    if (ncclCommInitRank(&comm, kWorld, id, rank) != ncclSuccess) {
      failed += complain("init");
      return;
    }
    const std::string problem =
        all_ways(comm, rank, seed, results + static_cast<std::size_t>(rank) * results_bytes());
    if (!problem.empty()) {
      std::fprintf(stderr, "rank %d: %s\n", rank, problem.c_str());
      ++failed;
      ncclCommAbort(comm);
      return;
    }
    if (ncclCommDestroy(comm) != ncclSuccess) failed += complain("destroy");
  });
  return failed;
}

TEST(Reproducible, TheBitsDependOnTheInputsAlone) {
  const std::uint64_t seed = test_seed();
  const std::pair<const char*, Environment> worlds[] = {
      {"direct", {}},
      {"shared memory", {{"NCCL_P2P_DISABLE", "1"}}},
      {"TCP", {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}}},
      {"ring asked for", {{"NCCL_ALGO", "Ring"}}},
      {"small slots", {{"GYRE_SLOT_BYTES", "4K"}, {"GYRE_ONE_SHOT_BYTES", "0"}}},
  };
  std::vector<std::byte> first;
  for (const auto& [name, environment] : worlds) {
    Shared<std::byte> results(results_bytes() * kWorld);
    const pid_t child =
        in_child([&, &env = environment] { return run_world(env, seed, results.data()); });
    ASSERT_EQ(status_of(child), 0) << name;
    if (first.empty()) first.assign(results.data(), results.data() + results_bytes());
    for (std::size_t rank = 0; rank < kWorld; ++rank) {
      EXPECT_EQ(std::memcmp(results.data() + rank * results_bytes(), first.data(), first.size()), 0)
          << name << ", rank " << rank;
    }
  }
}

}  // namespace
}  // namespace gyre::test
