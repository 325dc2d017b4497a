// The loop under every floating-point fold, compiled once per SIMD target.
//
// A Format says how elements become lanes and back:
//   Acc                      type of a lane of the accumulator
//   kBytes                   bytes of an element
//   kRescues                 whether a result that is not finite must be computed again
//   load(p), store(v, p)     one vector of Lanes(tag) elements
//   rescue(sources, offset, ranks, p)  (kRescues) one element again, with a wider exponent
// An Operation says what happens to the lanes:
//   kScales, enter(v)        (kScales) the local operand before it is combined
//   combine(a, b), leave(v)  the fold, and the last change before rounding
//
// The elements that do not fill a vector pass through the same code by way of a buffer of one
// vector, which makes every element's bits independent of its position.
#if defined(GYRE_KERNELS_HOST_FOLD_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_KERNELS_HOST_FOLD_INL_HPP_
#undef GYRE_KERNELS_HOST_FOLD_INL_HPP_
#else
#define GYRE_KERNELS_HOST_FOLD_INL_HPP_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels/host/families.hpp"
#include "kernels/host/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors are loaded as bytes: element pointers may be misaligned, and typed ones must not be.
template <class D>
HWY_INLINE hn::VFromD<D> load_lanes(D tag, const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  hn::TFromD<D> value;
  std::memcpy(&value, from, sizeof value);
  return hn::Set(tag, value);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(tag, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

template <class D>
HWY_INLINE void store_lanes(D tag, hn::VFromD<D> lanes, std::byte* to) {
#if HWY_TARGET == HWY_SCALAR
  const hn::TFromD<D> value = hn::GetLane(lanes);
  std::memcpy(to, &value, sizeof value);
  static_cast<void>(tag);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, lanes), bytes, reinterpret_cast<std::uint8_t*>(to));
  static_cast<void>(tag);
#endif
}

struct Sum {
  static constexpr bool kScales = false;
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Add(a, b);
  }
  template <class V>
  HWY_INLINE V leave(V v) const {
    return v;
  }
};

struct Product : Sum {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    return hn::Mul(a, b);
  }
};

// Equal operands differ at most in the sign of a zero: And gives +0 if there is one, Or -0.
struct Maximum : Sum {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    const V larger = hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
    return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
  }
};

struct Minimum : Sum {
  template <class V>
  HWY_INLINE V combine(V a, V b) const {
    const V smaller = hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
    return hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), smaller);
  }
};

// A true division: multiplying by the reciprocal would round twice.
template <class Acc>
struct Average : Sum {
  Acc divisor;
  explicit Average(int ranks) : divisor(static_cast<Acc>(ranks)) {}
  template <class V>
  HWY_INLINE V leave(V v) const {
    return hn::Div(v, hn::Set(hn::DFromV<V>(), divisor));
  }
};

// The product is rounded before it is added: no fused multiply-add, which not every target has.
template <class Acc>
struct ScaledSum : Sum {
  static constexpr bool kScales = true;
  Acc factor;
  explicit ScaledSum(double scale) : factor(static_cast<Acc>(scale)) {}
  template <class V>
  HWY_INLINE V enter(V v) const {
    return hn::Mul(v, hn::Set(hn::DFromV<V>(), factor));
  }
};

template <class Format, class Operation>
class Folder {
 public:
  using Tag = hn::ScalableTag<typename Format::Acc>;
  using V = hn::VFromD<Tag>;

  Folder(const Fold& fold, Operation operation, std::byte* target, Sources sources)
      : operation_(operation),
        target_(target),
        sources_(sources.data()),
        size_(sources.size()),
        local_(fold.local < 0 ? sources.size() : static_cast<std::size_t>(fold.local)),
        ranks_(fold.ranks) {}

  HWY_INLINE void run(std::uint64_t count) const {
    const std::size_t step = hn::Lanes(Tag()) * Format::kBytes;
    const std::size_t bytes = count * Format::kBytes;
    std::size_t at = head(bytes, step);
    if (at != 0) partial(0, at);
    for (; at + 4 * step <= bytes; at += 4 * step) four(at, step);
    for (; at + step <= bytes; at += step) one(at, step);
    if (at < bytes) partial(at, bytes - at);
  }

 private:
  // Bytes before the first aligned vector of the target. Vectors as wide as a cache line otherwise
  // touch two lines each, which costs a third of the bandwidth (AVX-512 Xeon); few elements are not
  // worth it.
  HWY_INLINE std::size_t head(std::size_t bytes, std::size_t step) const {
    constexpr std::size_t kWorthAligning = 4096;
    const std::size_t past = reinterpret_cast<std::uintptr_t>(target_) % step;
    if (bytes < kWorthAligning || past == 0 || (step - past) % Format::kBytes != 0) return 0;
    return step - past;
  }

  HWY_INLINE V enter(V v, std::size_t source) const {
    if constexpr (Operation::kScales) {
      if (source == local_) return operation_.enter(v);
    }
    return v;
  }

  // Four accumulators hide the latency of one addition.
  HWY_INLINE void four(std::size_t at, std::size_t step) const {
    const std::byte* from = sources_[0] + at;
    V a = enter(format_.load(from), 0);
    V b = enter(format_.load(from + step), 0);
    V c = enter(format_.load(from + 2 * step), 0);
    V d = enter(format_.load(from + 3 * step), 0);
    for (std::size_t source = 1; source < size_; ++source) {
      from = sources_[source] + at;
      a = operation_.combine(a, enter(format_.load(from), source));
      b = operation_.combine(b, enter(format_.load(from + step), source));
      c = operation_.combine(c, enter(format_.load(from + 2 * step), source));
      d = operation_.combine(d, enter(format_.load(from + 3 * step), source));
    }
    a = operation_.leave(a);
    b = operation_.leave(b);
    c = operation_.leave(c);
    d = operation_.leave(d);
    if constexpr (Format::kRescues) {
      const auto fine = hn::And(hn::And(hn::IsFinite(a), hn::IsFinite(b)),
                                hn::And(hn::IsFinite(c), hn::IsFinite(d)));
      if (HWY_UNLIKELY(!hn::AllTrue(Tag(), fine))) return rescue(at, 4 * step);
    }
    std::byte* to = target_ + at;
    format_.store(a, to);
    format_.store(b, to + step);
    format_.store(c, to + 2 * step);
    format_.store(d, to + 3 * step);
  }

  HWY_INLINE void one(std::size_t at, std::size_t step) const {
    V a = enter(format_.load(sources_[0] + at), 0);
    for (std::size_t source = 1; source < size_; ++source) {
      a = operation_.combine(a, enter(format_.load(sources_[source] + at), source));
    }
    a = operation_.leave(a);
    if constexpr (Format::kRescues) {
      if (HWY_UNLIKELY(!hn::AllTrue(Tag(), hn::IsFinite(a)))) return rescue(at, step);
    }
    format_.store(a, target_ + at);
  }

  // Fewer elements than a vector has.
  HWY_NOINLINE void partial(std::size_t at, std::size_t bytes) const {
    alignas(64) std::byte buffer[hn::MaxLanes(Tag()) * Format::kBytes] = {};
    std::memcpy(buffer, sources_[0] + at, bytes);
    V a = enter(format_.load(buffer), 0);
    for (std::size_t source = 1; source < size_; ++source) {
      std::memcpy(buffer, sources_[source] + at, bytes);
      a = operation_.combine(a, enter(format_.load(buffer), source));
    }
    a = operation_.leave(a);
    if constexpr (Format::kRescues) {
      if (HWY_UNLIKELY(!hn::AllTrue(Tag(), hn::IsFinite(a)))) return rescue(at, bytes);
    }
    format_.store(a, buffer);
    std::memcpy(target_ + at, buffer, bytes);
  }

  // Nothing of the block has been stored yet, so that a target equal to a source is still intact.
  HWY_NOINLINE void rescue(std::size_t at, std::size_t bytes) const {
    if constexpr (Format::kRescues) {
      for (std::size_t end = at + bytes; at < end; at += Format::kBytes) {
        format_.rescue({sources_, size_}, at, ranks_, target_ + at);
      }
    }
  }

  [[no_unique_address]] Format format_{};
  Operation operation_;
  std::byte* target_;
  const std::byte* const* sources_;
  std::size_t size_;
  std::size_t local_;
  int ranks_;
};

template <class Format, class Operation>
HWY_NOINLINE void run_fold(const Fold& fold, Operation operation, std::byte* target,
                           Sources sources, std::uint64_t count) {
  Folder<Format, Operation>(fold, operation, target, sources).run(count);
}

// One fold of a type whose plain operations use Format, and whose finished averages AverageFormat.
template <class Format, class AverageFormat>
HWY_INLINE void fold_floats(const Fold& fold, std::byte* target, Sources sources,
                            std::uint64_t count) {
  using Acc = typename Format::Acc;
  switch (fold.op) {
    case ReduceOp::prod:
      return run_fold<Format>(fold, Product(), target, sources, count);
    case ReduceOp::max:
      return run_fold<Format>(fold, Maximum(), target, sources, count);
    case ReduceOp::min:
      return run_fold<Format>(fold, Minimum(), target, sources, count);
    case ReduceOp::avg:
      if (!divides(fold)) break;
      return run_fold<AverageFormat>(fold, Average<typename AverageFormat::Acc>(fold.ranks), target,
                                     sources, count);
    case ReduceOp::premulsum:
      if (!scales(fold)) break;
      return run_fold<Format>(fold, ScaledSum<Acc>(fold.scale), target, sources, count);
    case ReduceOp::sum:
      break;
  }
  run_fold<Format>(fold, Sum(), target, sources, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#endif
