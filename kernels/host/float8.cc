// The two fp8 formats, accumulated in fp32: no sum of fewer than 2^111 operands overflows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/float8.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include "kernels/host/small_float_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
// The CPU widens fp16 (F16C), and both formats are an fp16 but for a shift: e5m2 is its upper byte,
// e4m3 has one bit of exponent less, hence values smaller by a power of two.
using HalfTag = hn::Rebind<hwy::float16_t, Fp32Tag>;
using HalfBitsTag = hn::Rebind<std::int16_t, Fp32Tag>;
using SignedCodeTag = hn::Rebind<std::int8_t, Fp32Tag>;

struct E5m2Format : SmallFloatFormat<Float8E5m2, std::uint8_t> {
  HWY_INLINE Fp32 load(const std::byte* from) const {
    const auto code = hn::PromoteTo(HalfBitsTag(), load_lanes(SignedCodeTag(), from));
    return hn::PromoteTo(Fp32Tag(), hn::BitCast(HalfTag(), hn::ShiftLeft<8>(code)));
  }
};

struct E4m3Format : SmallFloatFormat<Float8E4m3, std::uint8_t> {
  HWY_INLINE Fp32 load(const std::byte* from) const {
    const auto code = hn::PromoteTo(HalfBitsTag(), load_lanes(SignedCodeTag(), from));
    // The sign-extended code has copies of the sign where the missing exponent bit belongs.
    const auto exponent_gap = hn::Set(HalfBitsTag(), static_cast<std::int16_t>(0xbf80));
    const auto half = hn::BitCast(HalfTag(), hn::And(hn::ShiftLeft<7>(code), exponent_gap));
    const Fp32 value = hn::Mul(hn::PromoteTo(Fp32Tag(), half), hn::Set(Fp32Tag(), 256.0F));
    const auto is_nan = hn::Eq(hn::Abs(value), hn::Set(Fp32Tag(), 480.0F));  // the NaN code
    return hn::IfThenElse(is_nan, hn::BitCast(Fp32Tag(), bits_of(kFloat32Nan)), value);
  }
};
#else
using E4m3Format = SmallFloatFormat<Float8E4m3, std::uint8_t>;
using E5m2Format = SmallFloatFormat<Float8E5m2, std::uint8_t>;
#endif

void float8e4m3(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  fold_floats<E4m3Format, E4m3Format>(fold, target, sources, count);
}

void float8e5m2(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  fold_floats<E5m2Format, E5m2Format>(fold, target, sources, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::host {

HWY_EXPORT(float8e4m3);
HWY_EXPORT(float8e5m2);

void fold_float8e4m3(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(float8e4m3)(fold, target, sources, count);
}

void fold_float8e5m2(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(float8e5m2)(fold, target, sources, count);
}

}  // namespace gyre::host
#endif
