// Bandwidth of gyre::fold and gyre::copy: bytes of one operand per second.
// Arguments: type, operation, sources, bytes of one operand.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels/host/reduce.hpp"

namespace gyre {
namespace {

constexpr std::int64_t kInCache = 64 << 10;
constexpr std::int64_t kInMemory = 64 << 20;

void label(benchmark::State& state, std::int64_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes);
}

void reduce(benchmark::State& state) {
  const Fold fold{.type = static_cast<DataType>(state.range(0)),
                  .op = static_cast<ReduceOp>(state.range(1)),
                  .scale = 0.5,
                  .scale_bits = 3,
                  .ranks = static_cast<int>(state.range(2)),
                  .local = 0,
                  .finish = true};
  const auto bytes = static_cast<std::size_t>(state.range(3));
  // 0x30 makes moderate positive values of every type.
  std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(state.range(2)),
                                              std::vector<std::byte>(bytes, std::byte{0x30}));
  std::vector<const std::byte*> sources;
  for (const auto& buffer : buffers) sources.push_back(buffer.data());
  std::vector<std::byte> target(bytes);
  for (auto _ : state) {
    gyre::fold(fold, target.data(), sources, bytes / size_of(fold.type));
    benchmark::ClobberMemory();
  }
  label(state, state.range(3));
  state.SetLabel(std::string(name_of(fold.type)) + " " + std::string(name_of(fold.op)));
}

void copy_bytes(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> source(bytes, std::byte{1});
  std::vector<std::byte> target(bytes);
  for (auto _ : state) {
    gyre::copy(target.data(), source.data(), bytes);
    benchmark::ClobberMemory();
  }
  label(state, state.range(0));
}

// What the machine's memory gives: read two operands, write one, with no arithmetic to speak of.
void stream_add(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0)) / sizeof(double);
  const std::vector<double> a(count, 1.0);
  const std::vector<double> b(count, 2.0);
  std::vector<double> target(count);
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) target[i] = a[i] + b[i];
    benchmark::ClobberMemory();
  }
  label(state, state.range(0));
}

void every_type_and_operation(benchmark::internal::Benchmark* bench) {
  for (int type = 0; type < kDataTypes; ++type) {
    for (int op = 0; op < kReduceOps; ++op) bench->Args({type, op, 2, kInCache});
  }
}

void sums_in_memory(benchmark::internal::Benchmark* bench) {
  for (int type = 0; type < kDataTypes; ++type) {
    for (const int sources : {2, 8}) bench->Args({type, 0, sources, kInMemory});
  }
}

BENCHMARK(reduce)->Name("reduce_in_cache")->Apply(every_type_and_operation);
BENCHMARK(reduce)->Name("reduce_in_memory")->Apply(sums_in_memory);
BENCHMARK(copy_bytes)->Arg(kInCache)->Arg(kInMemory);
BENCHMARK(stream_add)->Arg(kInCache)->Arg(kInMemory);

}  // namespace
}  // namespace gyre

BENCHMARK_MAIN();
