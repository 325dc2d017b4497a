// Element-wise work of one block: the arithmetic of gyre::fold (kernels/host/reduce.hpp), with the
// same bits, into several targets.
//
// A target may equal any source exactly, and no other target; no other overlap. Every pointer may
// have any byte alignment. Nothing outside [0, count) elements is touched. All kThreads threads
// call; there is no barrier inside, so that the caller puts one before (the task is read from
// shared memory) and after.
//
// Every element is loaded from all sources by the thread that stores it, before it is stored: that
// is what makes a target equal to a source safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/types.hpp"
#include "kernels/device/access.cuh"
#include "kernels/device/copy.cuh"
#include "kernels/device/element.cuh"
#include "kernels/device/fold_task.hpp"
#include "kernels/device/operation.cuh"

namespace gyre::device {

// One element, by one thread.
template <class Form, class Operation>
__device__ __forceinline__ void fold_element(const FoldTask& task, const Operation& operation,
                                             std::uint64_t at) {
  using Code = typename Form::Code;
  using Acc = typename Form::Acc;
  Acc acc = operation.enter(Form::widen(load_element<Code>(task.sources[0] + at)), 0);
#pragma unroll 1
  for (std::uint32_t source = 1; source < task.source_count; ++source) {
    const Acc operand = Form::widen(load_element<Code>(task.sources[source] + at));
    acc = operation.combine(acc, operation.enter(operand, source));
  }
  acc = operation.leave(acc);
  Code code = Form::narrow(acc);
  if constexpr (Form::kRescues) {
    if (!is_finite(acc)) code = Form::rescue(task, at);
  }
#pragma unroll 1
  for (std::uint32_t target = 0; target < task.target_count; ++target) {
    store_element<Code>(task.targets[target] + at, code);
  }
}

// The packs of one thread in one round. Offsets in bytes.
template <class Form, class Operation, int kPacks>
class Round {
 public:
  using Code = typename Form::Code;
  using Acc = typename Form::Acc;
  static constexpr int kElements = kPackBytes / sizeof(Code);

  __device__ __forceinline__ Round(const FoldTask& task, const Operation& operation,
                                   std::uint64_t at, std::uint64_t end)
      : task_(task), operation_(operation), window_{at, end, pack_stride(task)} {}

  // The accumulators stay in registers while the sources pass by, kTogether of which are on their
  // way at the same time.
  template <bool kAligned, std::uint32_t kTogether>
  __device__ __forceinline__ void fold_any() const {
    const std::uint32_t sources = task_.source_count;
    Pack loaded[kTogether][kPacks];
    Acc acc[kPacks][kElements];
#pragma unroll 1
    for (std::uint32_t first = 0; first < sources; first += kTogether) {
#pragma unroll
      for (std::uint32_t i = 0; i < kTogether; ++i) {
        if (first + i < sources)
          window_.template load<kAligned>(task_.sources[first + i], loaded[i]);
      }
#pragma unroll
      for (std::uint32_t i = 0; i < kTogether; ++i) {
        if (first + i < sources) take_in(loaded[i], first + i, acc);
      }
    }
    bool fine = true;
    for (int pack = 0; pack < kPacks; ++pack) loaded[0][pack] = result(acc[pack], fine);
    finish<kAligned>(loaded[0], fine);
  }

  // At most kSources of them: all packs of all are on their way at once, and only one pack at a
  // time is taken apart.
  template <std::uint32_t kSources>
  __device__ __forceinline__ void fold_few() const {
    const std::uint32_t sources = task_.source_count;
    Pack loaded[kSources][kPacks];
#pragma unroll
    for (std::uint32_t i = 0; i < kSources; ++i) {
      if (i < sources) window_.template load<true>(task_.sources[i], loaded[i]);
    }
    bool fine = true;
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      Acc acc[kElements];
#pragma unroll
      for (int e = 0; e < kElements; ++e) acc[e] = operand(loaded[0][pack], e, 0);
#pragma unroll
      for (std::uint32_t i = 1; i < kSources; ++i) {
        if (i >= sources) break;
#pragma unroll
        for (int e = 0; e < kElements; ++e) {
          acc[e] = operation_.combine(acc[e], operand(loaded[i][pack], e, i));
        }
      }
      loaded[0][pack] = result(acc, fine);
    }
    finish<true>(loaded[0], fine);
  }

 private:
  template <class Body>
  __device__ __forceinline__ static void each(Body body) {
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
#pragma unroll
      for (int i = 0; i < kElements; ++i) body(pack, i);
    }
  }

  __device__ __forceinline__ void take_in(const Pack (&packs)[kPacks], std::uint32_t source,
                                          Acc (&acc)[kPacks][kElements]) const {
    if (source == 0) {
      each([&](int pack, int i) { acc[pack][i] = operand(packs[pack], i, 0); });
    } else {
      each([&](int pack, int i) {
        acc[pack][i] = operation_.combine(acc[pack][i], operand(packs[pack], i, source));
      });
    }
  }

  __device__ __forceinline__ Acc operand(const Pack& pack, int i, std::uint32_t source) const {
    return operation_.enter(Form::widen(element_of<Code>(pack, i)), source);
  }

  // Clears `fine` if an element must be rescued.
  __device__ __forceinline__ Pack result(const Acc (&acc)[kElements], bool& fine) const {
    Pack pack;
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const Acc value = operation_.leave(acc[i]);
      if constexpr (Form::kRescues) fine = fine && is_finite(value);
      put_element<Code>(pack, i, Form::narrow(value));
    }
    return pack;
  }

  // Nothing of the round has been stored before, so that a target equal to a source is still intact
  // when elements are rescued.
  template <bool kAligned>
  __device__ __forceinline__ void finish(const Pack (&results)[kPacks], bool fine) const {
    if (Form::kRescues && !fine) {
#pragma unroll 1
      for (int i = 0; i < kPacks * kElements; ++i) {
        const int pack = i / kElements;
        if (!window_.holds(pack)) return;
        fold_element<Form>(task_, operation_, window_.offset(pack) + i % kElements * sizeof(Code));
      }
      return;
    }
#pragma unroll 1
    for (std::uint32_t target = 0; target < task_.target_count; ++target) {
      window_.template store<kAligned>(task_.targets[target], results);
    }
  }

  const FoldTask& task_;
  const Operation& operation_;
  Window<kPacks> window_;
};

// How many packs a thread has in hand at a time, such that two blocks of kThreads can share a
// multiprocessor: 64 registers a thread, some of which hold what the caller is about. Divisions
// need more of them than other operations do, and elements of one byte more instructions: their
// code would outgrow the instruction cache.
template <class Form, class Operation>
struct PacksAtOnce {
  using Acc = typename Form::Acc;
  static constexpr int kRegisters = kPackBytes / sizeof(typename Form::Code) * sizeof(Acc) / 4;
  static constexpr bool kDivides = std::is_same_v<Operation, Average<Acc>>;
  static constexpr int kLoads = kDivides || kRegisters > 8 ? 4 : 8;  // of 16 bytes, by a thread
  static constexpr int kOfMany = kRegisters > 8 ? 2 : kRegisters > 4 ? 4 : kLoads;
};

// A function of its own for each operation: in one, the registers of all of them would add up. What
// it takes by value stays in registers across the call.
template <class Form, class Operation>
__device__ __noinline__ void fold_with(const FoldTask& in_shared_memory, Split parts,
                                       Operation operation) {
  const FoldTask& task = *shared(&in_shared_memory);
  using Packs = PacksAtOnce<Form, Operation>;
  const std::uint64_t lone = parts.lone_element(task, sizeof(typename Form::Code));
  if (lone < parts.bytes) fold_element<Form>(task, operation, lone);

  const std::uint64_t end = parts.end_of_packs();
  const std::uint64_t stride = pack_stride(task);
  std::uint64_t at = first_pack(task, parts.head);
  if (!parts.aligned) {
#pragma unroll 1
    for (; at < end; at += stride) {
      Round<Form, Operation, 1>(task, operation, at, end).template fold_any<false, 1>();
    }
  } else if (task.source_count <= 2) {
    constexpr int kPacks = Packs::kLoads / 2;
#pragma unroll 1
    for (; at < end; at += kPacks * stride) {
      Round<Form, Operation, kPacks>(task, operation, at, end).template fold_few<2>();
    }
  } else if (task.source_count <= 4) {
    constexpr int kPacks = Packs::kLoads / 4;
#pragma unroll 1
    for (; at < end; at += kPacks * stride) {
      Round<Form, Operation, kPacks>(task, operation, at, end).template fold_few<4>();
    }
  } else if (task.source_count <= 8) {
#pragma unroll 1
    for (; at < end; at += stride) {
      Round<Form, Operation, 1>(task, operation, at, end).template fold_few<8>();
    }
  } else {
#pragma unroll 1
    for (; at < end; at += stride) {
      Round<Form, Operation, 1>(task, operation, at, end).template fold_any<true, Packs::kOfMany>();
    }
  }
}

// Folds the task's sources into its targets. Not for one operand with nothing to scale or divide:
// that is a copy of the bits, NaN and all.
template <DataType type>
__device__ __forceinline__ void fold_block(const FoldTask& task) {
  using Plain = typename FormsOf<type>::Plain;
  using Ordered = typename FormsOf<type>::Ordered;
  using Averaged = typename FormsOf<type>::Averaged;
  using Acc = typename Plain::Acc;
  const Fold& fold = task.fold;
  const Split parts = split(task, task.elements * size_of(type), size_of(type));
  switch (fold.op) {
    case ReduceOp::prod:
      return fold_with<Plain>(task, parts, Product<Acc>());
    case ReduceOp::max:
      return fold_with<Ordered>(task, parts, Maximum<typename Ordered::Acc>());
    case ReduceOp::min:
      return fold_with<Ordered>(task, parts, Minimum<typename Ordered::Acc>());
    case ReduceOp::avg:
      if (!fold.finish) break;
      return fold_with<Averaged>(task, parts, Average<typename Averaged::Acc>(fold.ranks));
    case ReduceOp::premulsum:
      if (fold.local < 0) break;
      return fold_with<Plain>(
          task, parts,
          ScaledSum<Acc>(factor_of<Acc>(fold), static_cast<std::uint32_t>(fold.local)));
    case ReduceOp::sum:
      break;
  }
  fold_with<Plain>(task, parts, Sum<Acc>());
}

}  // namespace gyre::device
