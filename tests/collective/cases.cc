#include "tests/collective/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "gyre/gyre.hpp"
#include "tests/collective/rank_memory.hpp"

extern "C" ncclResult_t ncclAlltoAllv(const void*, const size_t[], const size_t[], void*,
                                      const size_t[], const size_t[], ncclDataType_t, ncclComm_t,
                                      cudaStream_t);

namespace gyre::test {
namespace {

// Element counts of a v-collective's blocks: uneven, some empty.
std::uint64_t block_count(const Case& one, int from, int to) {
  const auto mixed = static_cast<std::uint64_t>(from * 7 + to * 3) % 5;
  return mixed == 0 ? 0 : one.count * mixed / 4;
}

struct Table {
  std::vector<std::size_t> counts, offsets;
  std::size_t total = 0;
  void add(std::size_t count) {
    offsets.push_back(total);
    counts.push_back(count);
    total += count;
  }
};

// Blocks of all ranks in the v-variants where every rank has one.
Table rank_table(const Case& one, int world) {
  Table table;
  for (int rank = 0; rank < world; ++rank) table.add(block_count(one, rank, 0));
  return table;
}
Table send_table(const Case& one, int rank, int world) {
  Table table;
  for (int peer = 0; peer < world; ++peer) table.add(block_count(one, rank, peer));
  return table;
}
Table receive_table(const Case& one, int rank, int world) {
  Table table;
  for (int peer = 0; peer < world; ++peer) table.add(block_count(one, peer, rank));
  return table;
}

struct Sizes {
  std::uint64_t input = 0, output = 0;  // elements
  std::uint64_t input_in_output = 0;    // in place: where the input lies in the output ...
  std::uint64_t output_in_input = 0;    // ... or the output in the input
};

Sizes sizes_of(const Case& one, int rank, int world) {
  const std::uint64_t n = static_cast<std::uint64_t>(world), r = static_cast<std::uint64_t>(rank);
  const std::uint64_t c = one.count;
  const auto root = static_cast<std::uint64_t>(one.root);
  switch (one.kind) {
    case Kind::all_gather:
      return {c, n * c, r * c, 0};
    case Kind::reduce_scatter:
      return {n * c, c, 0, r * c};
    case Kind::all_to_all:
      return {n * c, n * c, 0, 0};
    case Kind::gather:
      return {c, rank == one.root ? n * c : 0, root * c, 0};
    case Kind::scatter:
      return {rank == one.root ? n * c : 0, c, 0, root * c};
    case Kind::reduce:
      return {c, rank == one.root ? c : 0, 0, 0};
    case Kind::broadcast:
      return {c, c, 0, 0};
    case Kind::all_to_all_v:
      return {send_table(one, rank, world).total, receive_table(one, rank, world).total, 0, 0};
    case Kind::all_gather_v: {
      const Table table = rank_table(one, world);
      return {table.counts[r], table.total, table.offsets[r], 0};
    }
    case Kind::reduce_scatter_v: {
      const Table table = rank_table(one, world);
      return {table.total, table.counts[r], 0, table.offsets[r]};
    }
    default:
      return {c, c, 0, 0};
  }
}

bool has_in_place(Kind kind) { return kind != Kind::all_to_all_v && kind != Kind::send_receive; }

Source source_of(const Case& one, int world) { return {one.seed, one.type, one.op, world}; }

struct Buffers {
  Guarded memory;  // the larger one, and the only one in place
  Guarded other;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  bool larger_is_output = true;

  void push() const { memory.push(), other.push(); }
  void pull() const { memory.pull(), other.pull(); }
};

Buffers make_buffers(const Case& one, int rank, int world) {
  const std::size_t element = size_of(one.type);
  const Sizes sizes = sizes_of(one, rank, world);
  const bool output_larger = sizes.output >= sizes.input;
  const std::size_t larger = std::max(sizes.input, sizes.output) * element;
  const std::size_t smaller = one.in_place ? 0 : std::min(sizes.input, sizes.output) * element;
  // Neither ranks nor input and output lie alike.
  const auto shift = static_cast<std::size_t>(rank) * (one.offset != 0 ? 1 : 0);
  Buffers buffers{Guarded(larger, one.offset + shift, one.memory),
                  Guarded(smaller, one.offset + 3 * shift, one.memory)};
  buffers.larger_is_output = output_larger;
  if (output_larger) {
    buffers.output = buffers.memory.data();
    buffers.input =
        one.in_place ? buffers.output + sizes.input_in_output * element : buffers.other.data();
  } else {
    buffers.input = buffers.memory.data();
    buffers.output =
        one.in_place ? buffers.input + sizes.output_in_input * element : buffers.other.data();
  }
  std::vector<Value> given(sizes.input);
  values(source_of(one, world), rank, 0, given);
  store(given, one.type, buffers.input);
  buffers.push();
  return buffers;
}

// What a call is given for the buffers.
struct Given {
  const std::byte* input;
  std::byte* output;
};

Given given(const Case& one, const Buffers& buffers) {
  const Guarded& second = one.in_place ? buffers.memory : buffers.other;
  const Guarded& of_input = buffers.larger_is_output ? second : buffers.memory;
  const Guarded& of_output = buffers.larger_is_output ? buffers.memory : second;
  return {of_input.given(buffers.input), of_output.given(buffers.output)};
}

ncclResult_t issue(const Case& one, const LocalRank& local, int world, const Given& b,
                   ncclRedOp_t op) {
  const int right = (local.rank + 1) % world, left = (local.rank + world - 1) % world;
  const ncclComm_t comm = local.comm;
  switch (one.kind) {
    case Kind::all_reduce:
      return ncclAllReduce(b.input, b.output, one.count, one.type, op, comm, local.stream);
    case Kind::reduce:
      return ncclReduce(b.input, b.output, one.count, one.type, op, one.root, comm, local.stream);
    case Kind::broadcast:
      return ncclBroadcast(b.input, b.output, one.count, one.type, one.root, comm, local.stream);
    case Kind::all_gather:
      return ncclAllGather(b.input, b.output, one.count, one.type, comm, local.stream);
    case Kind::reduce_scatter:
      return ncclReduceScatter(b.input, b.output, one.count, one.type, op, comm, local.stream);
    case Kind::all_to_all:
      return ncclAlltoAll(b.input, b.output, one.count, one.type, comm, local.stream);
    case Kind::gather:
      return ncclGather(b.input, b.output, one.count, one.type, one.root, comm, local.stream);
    case Kind::scatter:
      return ncclScatter(b.input, b.output, one.count, one.type, one.root, comm, local.stream);
    case Kind::send_receive: {
      ncclGroupStart();
      ncclSend(b.input, one.count, one.type, right, comm, local.stream);
      ncclRecv(b.output, one.count, one.type, left, comm, local.stream);
      return ncclGroupEnd();
    }
    case Kind::all_to_all_v: {
      const Table send = send_table(one, local.rank, world);
      const Table receive = receive_table(one, local.rank, world);
      return ncclAlltoAllv(b.input, send.counts.data(), send.offsets.data(), b.output,
                           receive.counts.data(), receive.offsets.data(), one.type, comm,
                           local.stream);
    }
    case Kind::all_gather_v: {
      const Table table = rank_table(one, world);
      return gyre::all_gather_v(b.input, b.output, table.counts.data(), table.offsets.data(),
                                one.type, comm, local.stream);
    }
    case Kind::reduce_scatter_v: {
      const Table table = rank_table(one, world);
      return gyre::reduce_scatter_v(b.input, b.output, table.counts.data(), table.offsets.data(),
                                    one.type, op, comm, local.stream);
    }
  }
  return ncclInternalError;
}

// What the output of `rank` must be.
std::vector<Value> expected(const Case& one, int rank, int world) {
  const Source source = source_of(one, world);
  const std::uint64_t r = static_cast<std::uint64_t>(rank), c = one.count;
  std::vector<Value> wanted(sizes_of(one, rank, world).output);
  // The next `count` elements are those of rank `from`, from its index `first` on.
  std::size_t at = 0;
  const auto take = [&](int from, std::uint64_t first, std::size_t count) {
    values(source, from, first, std::span(wanted).subspan(at, count));
    at += count;
  };
  switch (one.kind) {
    case Kind::all_reduce:
    case Kind::reduce:
      reduced(source, 0, wanted);
      break;
    case Kind::reduce_scatter:
      reduced(source, r * c, wanted);
      break;
    case Kind::reduce_scatter_v:
      reduced(source, rank_table(one, world).offsets[r], wanted);
      break;
    case Kind::broadcast:
      take(one.root, 0, c);
      break;
    case Kind::scatter:
      take(one.root, r * c, c);
      break;
    case Kind::send_receive:
      take((rank + world - 1) % world, 0, c);
      break;
    case Kind::all_gather:
    case Kind::gather:
      for (int from = 0; at < wanted.size(); ++from) take(from, 0, c);
      break;
    case Kind::all_to_all:
      for (int from = 0; at < wanted.size(); ++from) take(from, r * c, c);
      break;
    case Kind::all_gather_v: {
      const Table table = rank_table(one, world);
      for (int from = 0; from < world; ++from) {
        take(from, 0, table.counts[static_cast<std::size_t>(from)]);
      }
      break;
    }
    case Kind::all_to_all_v:
      for (int from = 0; from < world; ++from) {
        const Table sent = send_table(one, from, world);
        take(from, sent.offsets[r], sent.counts[r]);
      }
      break;
  }
  return wanted;
}

// The index of the first element that differs, or -1.
std::ptrdiff_t first_difference(std::span<const Value> wanted, ncclDataType_t type,
                                const std::byte* found) {
  const std::size_t element = size_of(type);
  std::vector<std::byte> bytes(wanted.size() * element);
  store(wanted, type, bytes.data());
  if (bytes.empty() || std::memcmp(bytes.data(), found, bytes.size()) == 0) return -1;
  const auto differs = std::mismatch(bytes.begin(), bytes.end(), found).first;
  return (differs - bytes.begin()) / static_cast<std::ptrdiff_t>(element);
}

std::string compare(const Case& one, int rank, int world, const Buffers& buffers) {
  const std::vector<Value> wanted = expected(one, rank, world);
  if (const auto wrong = first_difference(wanted, one.type, buffers.output); wrong >= 0) {
    return fmt::format("rank {}: element {} of {} is wrong (expected {})", rank, wrong,
                       wanted.size(), static_cast<int>(wanted[static_cast<std::size_t>(wrong)]));
  }
  if (!buffers.memory.intact() || !buffers.other.intact()) {
    return fmt::format("rank {}: bytes outside the buffers were written", rank);
  }
  if (one.in_place) return "";
  std::vector<Value> given(sizes_of(one, rank, world).input);
  values(source_of(one, world), rank, 0, given);
  if (const auto wrong = first_difference(given, one.type, buffers.input); wrong >= 0) {
    return fmt::format("rank {}: element {} of the input was changed", rank, wrong);
  }
  return "";
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[kKinds] = {"all_reduce",   "reduce",         "broadcast",
                                          "all_gather",   "reduce_scatter", "all_to_all",
                                          "gather",       "scatter",        "send_receive",
                                          "all_to_all_v", "all_gather_v",   "reduce_scatter_v"};
  return kNames[static_cast<int>(kind)];
}

bool reduces(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter ||
         kind == Kind::reduce_scatter_v;
}

std::string describe(const Case& one) {
  constexpr const char* kMemories[] = {"", " mapped", " at a page's edge"};
  return fmt::format("{} {} {} count {} root {} {}{} offset {} seed {}", name_of(one.kind),
                     name_of(one.type), name_of(one.op), one.count, one.root,
                     one.in_place ? "in place" : "out of place",
                     kMemories[static_cast<int>(one.memory)], one.offset, one.seed);
}

std::string run_case(const Case& wanted, const LocalRanks& local) {
  Case one = wanted;
  one.in_place = one.in_place && has_in_place(one.kind);
  std::vector<Buffers> buffers;
  std::vector<ncclRedOp_t> ops;
  for (const LocalRank& rank : local.ranks) {
    buffers.push_back(make_buffers(one, rank.rank, local.world));
    ncclRedOp_t op = static_cast<ncclRedOp_t>(one.op);
    if (reduces(one.kind) && one.op == Op::premulsum) {
      std::byte factor[8];
      const auto whole = static_cast<Value>(factor_of(rank.rank));
      store(std::span(&whole, 1), one.type, factor);
      if (ncclRedOpCreatePreMulSum(&op, factor, one.type, ncclScalarHostImmediate, rank.comm) !=
          ncclSuccess) {
        return std::string("creating premulsum: ") + ncclGetLastError(nullptr);
      }
    }
    ops.push_back(op);
  }
  if (local.ranks.size() > 1) ncclGroupStart();
  ncclResult_t result = ncclSuccess;
  for (std::size_t i = 0; i < local.ranks.size(); ++i) {
    const ncclResult_t issued =
        issue(one, local.ranks[i], local.world, given(one, buffers[i]), ops[i]);
    if (issued != ncclSuccess) result = issued;
  }
  if (local.ranks.size() > 1) {
    const ncclResult_t ended = ncclGroupEnd();
    if (ended != ncclSuccess) result = ended;
  }
  if (result != ncclSuccess) {
    return fmt::format("{}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr));
  }
  std::string wrong;
  for (std::size_t i = 0; i < local.ranks.size() && wrong.empty(); ++i) {
    wrong = wait_for(local.ranks[i].stream);
    ncclResult_t broken = ncclSuccess;
    if (wrong.empty()) ncclCommGetAsyncError(local.ranks[i].comm, &broken);
    if (broken != ncclSuccess) wrong = std::string("later: ") + ncclGetErrorString(broken);
    if (!wrong.empty()) break;
    buffers[i].pull();
    wrong = compare(one, local.ranks[i].rank, local.world, buffers[i]);
    if (ops[i] >= ncclNumOps) ncclRedOpDestroy(ops[i], local.ranks[i].comm);
  }
  return wrong;
}

}  // namespace gyre::test
