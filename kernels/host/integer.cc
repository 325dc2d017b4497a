// Integers, in plain loops that the compiler vectorises for each SIMD target (hence -O3 here):
// several of their operations (64-bit and 8-bit products, division) are no Highway operations.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/integer.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include <cmath>
#include <type_traits>

#include "kernels/host/fold_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

template <class T>
struct Integer {
  using Acc = T;
  using Tag = hn::ScalableTag<T>;
  using V = hn::VFromD<Tag>;
  static constexpr std::size_t kBytes = sizeof(T);
  static constexpr bool kRescues = false;

  HWY_INLINE V load(const std::byte* from) const { return load_lanes(Tag(), from); }
  HWY_INLINE void store(V v, std::byte* to) const { store_lanes(Tag(), v, to); }
};

struct Larger : Sum {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Max(a, b);
  }
};

struct Smaller : Sum {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Min(a, b);
  }
};

// Accumulators pass through a block that stays in the first-level cache. The block also makes
// a target equal to a source invisible to the compiler, which would otherwise not vectorise.
inline constexpr std::size_t kBlockBytes = 2048;

template <class Element>
HWY_INLINE Element load_element(const std::byte* from, std::size_t index) {
  Element value;
  std::memcpy(&value, from + index * sizeof(Element), sizeof value);
  return value;
}

// Element is read from memory, Acc accumulates it; leave(acc) gives the stored value, and
// enter(acc) the local operand's.
template <class Element, class Acc, class Enter, class Combine, class Leave>
HWY_INLINE void fold_blocks(const Fold& fold, std::byte* target, Sources sources,
                            std::uint64_t count, Enter enter, Combine combine, Leave leave) {
  constexpr std::size_t kBlock = kBlockBytes / sizeof(Acc);
  alignas(64) Acc acc[kBlock];
  alignas(64) Element result[kBlock];
  const std::size_t local = fold.local < 0 ? sources.size() : static_cast<std::size_t>(fold.local);
  for (std::uint64_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t n = count - begin < kBlock ? count - begin : kBlock;
    const std::size_t at = begin * sizeof(Element);
    const std::byte* from = sources[0] + at;
    for (std::size_t i = 0; i < n; ++i) acc[i] = static_cast<Acc>(load_element<Element>(from, i));
    if (local == 0) {
      for (std::size_t i = 0; i < n; ++i) acc[i] = enter(acc[i]);
    }
    for (std::size_t source = 1; source < sources.size(); ++source) {
      from = sources[source] + at;
      if (source == local) {
        for (std::size_t i = 0; i < n; ++i) {
          acc[i] = combine(acc[i], enter(static_cast<Acc>(load_element<Element>(from, i))));
        }
      } else {
        for (std::size_t i = 0; i < n; ++i) {
          acc[i] = combine(acc[i], static_cast<Acc>(load_element<Element>(from, i)));
        }
      }
    }
    for (std::size_t i = 0; i < n; ++i) result[i] = leave(acc[i]);
    std::memcpy(target + at, result, n * sizeof(Element));
  }
}

template <class T>
struct Same {
  HWY_INLINE T operator()(T value) const { return value; }
};

template <class U>
struct WrappingSum {
  HWY_INLINE U operator()(U a, U b) const { return static_cast<U>(a + b); }
};

template <class U>
struct WrappingProduct {
  HWY_INLINE U operator()(U a, U b) const { return static_cast<U>(a * b); }
};

template <class U>
struct WrappingScale {
  U factor;
  HWY_INLINE U operator()(U value) const { return static_cast<U>(value * factor); }
};

template <class Element, class Acc>
struct Quotient {
  Acc divisor;
  HWY_INLINE Element operator()(Acc sum) const {
    if constexpr (sizeof(Element) == 1) {
      // Exact for all of int32 (the quotient of two integers below 2^52 never rounds up to the next
      // integer), and unlike integer division there are vector instructions for it.
      return static_cast<Element>(
          static_cast<std::int32_t>(static_cast<double>(sum) / static_cast<double>(divisor)));
    } else {
      return static_cast<Element>(sum / divisor);
    }
  }
};

template <class T>
HWY_NOINLINE void average(const Fold& fold, std::byte* target, Sources sources,
                          std::uint64_t count) {
  // 32 bits hold the sum of eight million 8-bit operands.
  using Narrow = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;
  using Acc = std::conditional_t<sizeof(T) == 8, __int128, Narrow>;
  fold_blocks<T, Acc>(
      fold, target, sources, count, Same<Acc>(), [](Acc a, Acc b) HWY_ATTR { return a + b; },
      Quotient<T, Acc>{fold.ranks});
}

// Out of int64's range (or NaN) there is no residue to take: such a scale counts as 0.
template <class U>
U factor_of(const Fold& fold) {
  if constexpr (sizeof(U) == 8) return fold.scale_bits;
  constexpr double kLimit = 9223372036854775808.0;
  if (!(std::fabs(fold.scale) < kLimit)) return 0;
  return static_cast<U>(static_cast<std::int64_t>(fold.scale));
}

template <class U>
HWY_NOINLINE void scaled_sum(const Fold& fold, std::byte* target, Sources sources,
                             std::uint64_t count) {
  fold_blocks<U, U>(fold, target, sources, count, WrappingScale<U>{factor_of<U>(fold)},
                    WrappingSum<U>(), Same<U>());
}

template <class U>
HWY_NOINLINE void product(const Fold& fold, std::byte* target, Sources sources,
                          std::uint64_t count) {
  if constexpr (sizeof(U) == 4) {
    run_fold<Integer<U>>(fold, Product(), target, sources, count);
  } else {
    fold_blocks<U, U>(fold, target, sources, count, Same<U>(), WrappingProduct<U>(), Same<U>());
  }
}

template <class T>
void fold_integers(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  using U = std::make_unsigned_t<T>;  // wrapping arithmetic is the same for both signs
  switch (fold.op) {
    case ReduceOp::prod:
      return product<U>(fold, target, sources, count);
    case ReduceOp::max:
      return run_fold<Integer<T>>(fold, Larger(), target, sources, count);
    case ReduceOp::min:
      return run_fold<Integer<T>>(fold, Smaller(), target, sources, count);
    case ReduceOp::avg:
      if (divides(fold)) return average<T>(fold, target, sources, count);
      break;
    case ReduceOp::premulsum:
      if (scales(fold)) return scaled_sum<U>(fold, target, sources, count);
      break;
    case ReduceOp::sum:
      break;
  }
  run_fold<Integer<U>>(fold, Sum(), target, sources, count);
}

void integer(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  switch (fold.type) {
    case DataType::int8:
      return fold_integers<std::int8_t>(fold, target, sources, count);
    case DataType::uint8:
      return fold_integers<std::uint8_t>(fold, target, sources, count);
    case DataType::int32:
      return fold_integers<std::int32_t>(fold, target, sources, count);
    case DataType::uint32:
      return fold_integers<std::uint32_t>(fold, target, sources, count);
    case DataType::int64:
      return fold_integers<std::int64_t>(fold, target, sources, count);
    case DataType::uint64:
      return fold_integers<std::uint64_t>(fold, target, sources, count);
    default:
      return;  // fold() passes only integers
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::host {

HWY_EXPORT(integer);

void fold_integer(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(integer)(fold, target, sources, count);
}

}  // namespace gyre::host
#endif
