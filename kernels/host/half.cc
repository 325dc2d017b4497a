// fp16, accumulated in fp32: no sum of fewer than 2^111 operands overflows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/half.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include "kernels/host/small_float_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
// The CPU converts (F16C), as SmallFloatFormat does but for the payload of NaN.
struct HalfFormat {
  using Acc = float;
  using CodeTag = hn::Rebind<hwy::float16_t, Fp32Tag>;
  static constexpr std::size_t kBytes = 2;
  static constexpr bool kRescues = false;

  HWY_INLINE Fp32 load(const std::byte* from) const {
    return hn::PromoteTo(Fp32Tag(), load_lanes(CodeTag(), from));
  }
  HWY_INLINE void store(Fp32 v, std::byte* to) const {
    const Fp32 nan = hn::BitCast(Fp32Tag(), bits_of(kFloat32Nan));
    const Fp32 value = hn::IfThenElse(hn::IsNaN(v), nan, v);
    store_lanes(CodeTag(), hn::DemoteTo(CodeTag(), value), to);
  }
};
#else
using HalfFormat = SmallFloatFormat<Half, std::uint16_t>;
#endif

void half(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  fold_floats<HalfFormat, HalfFormat>(fold, target, sources, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::host {

HWY_EXPORT(half);

void fold_half(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(half)(fold, target, sources, count);
}

}  // namespace gyre::host
#endif
