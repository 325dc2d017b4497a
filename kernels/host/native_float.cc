// fp32 and fp64, each accumulated in itself, except finished averages of fp32 (in fp64).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/native_float.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include <bit>
#include <cmath>

#include "kernels/host/fold_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

struct Float32 {
  using Acc = float;
  using Tag = hn::ScalableTag<float>;
  using V = hn::VFromD<Tag>;
  static constexpr std::size_t kBytes = 4;
  static constexpr bool kRescues = false;

  HWY_INLINE V load(const std::byte* from) const { return load_lanes(Tag(), from); }
  HWY_INLINE void store(V v, std::byte* to) const {
    const V nan = hn::Set(Tag(), std::bit_cast<float>(kFloat32Nan));
    store_lanes(Tag(), hn::IfThenElse(hn::IsNaN(v), nan, v), to);
  }
};

// fp64 lanes hold any sum of fp32 operands, so that an average cannot overflow on the way.
struct Float32InFloat64 {
  using Acc = double;
  using Tag = hn::ScalableTag<double>;
  using ElementTag = hn::Rebind<float, Tag>;
  using V = hn::VFromD<Tag>;
  static constexpr std::size_t kBytes = 4;
  static constexpr bool kRescues = false;

  HWY_INLINE V load(const std::byte* from) const {
    return hn::PromoteTo(Tag(), load_lanes(ElementTag(), from));
  }
  HWY_INLINE void store(V v, std::byte* to) const {
#if HWY_TARGET == HWY_SCALAR
    // Highway's scalar demotion clamps to the largest finite value where the CPU's gives infinity.
    const auto narrowed = hn::Set(ElementTag(), static_cast<float>(hn::GetLane(v)));
#else
    const auto narrowed = hn::DemoteTo(ElementTag(), v);
#endif
    const auto nan = hn::Set(ElementTag(), std::bit_cast<float>(kFloat32Nan));
    store_lanes(ElementTag(), hn::IfThenElse(hn::IsNaN(narrowed), nan, narrowed), to);
  }
};

struct Float64 {
  using Acc = double;
  using Tag = hn::ScalableTag<double>;
  using V = hn::VFromD<Tag>;
  static constexpr std::size_t kBytes = 8;
  static constexpr bool kRescues = false;

  HWY_INLINE V load(const std::byte* from) const { return load_lanes(Tag(), from); }
  HWY_INLINE void store(V v, std::byte* to) const {
    const V nan = hn::Set(Tag(), std::bit_cast<double>(kFloat64Nan));
    store_lanes(Tag(), hn::IfThenElse(hn::IsNaN(v), nan, v), to);
  }
};

inline double load_double(const std::byte* from) {
  double value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// No wider type to escape to: an element whose sum overflows is summed again, every operand scaled
// down by a power of two that is no less than their number.
struct Float64Average : Float64 {
  static constexpr bool kRescues = true;

  void rescue(Sources sources, std::size_t at, int ranks, std::byte* to) const {
    const int power = static_cast<int>(std::bit_width(sources.size()));
    double sum = load_double(sources[0] + at);
    double scaled = std::ldexp(sum, -power);
    bool all_finite = std::isfinite(sum);
    for (std::size_t source = 1; source < sources.size(); ++source) {
      const double operand = load_double(sources[source] + at);
      all_finite = all_finite && std::isfinite(operand);
      sum += operand;
      scaled += std::ldexp(operand, -power);
    }
    double average = sum / ranks;
    if (!std::isfinite(sum) && all_finite) average = std::ldexp(scaled / ranks, power);
    if (std::isnan(average)) average = std::bit_cast<double>(kFloat64Nan);
    std::memcpy(to, &average, sizeof average);
  }
};

void float32(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  fold_floats<Float32, Float32InFloat64>(fold, target, sources, count);
}

void float64(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  fold_floats<Float64, Float64Average>(fold, target, sources, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::host {

HWY_EXPORT(float32);
HWY_EXPORT(float64);

void fold_float32(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(float32)(fold, target, sources, count);
}

void fold_float64(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(float64)(fold, target, sources, count);
}

}  // namespace gyre::host
#endif
