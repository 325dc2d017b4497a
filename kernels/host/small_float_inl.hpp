// The vector twin of formats.hpp's SmallFloat conversions: fp32 lanes to codes and back, in integer
// arithmetic that every SIMD target computes alike (Highway's own fp16 demotion truncates on some).
#if defined(GYRE_KERNELS_HOST_SMALL_FLOAT_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_KERNELS_HOST_SMALL_FLOAT_INL_HPP_
#undef GYRE_KERNELS_HOST_SMALL_FLOAT_INL_HPP_
#else
#define GYRE_KERNELS_HOST_SMALL_FLOAT_INL_HPP_
#endif

#include "kernels/host/fold_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

using Fp32Tag = hn::ScalableTag<float>;
using BitsTag = hn::RebindToSigned<Fp32Tag>;  // signed, for compares and minima that SSE4 has
using Fp32 = hn::VFromD<Fp32Tag>;
using Bits = hn::VFromD<BitsTag>;

HWY_INLINE Bits bits_of(std::uint32_t value) {
  return hn::Set(BitsTag(), static_cast<std::int32_t>(value));
}

template <int shift>
HWY_INLINE Bits shift_right_unsigned(Bits bits) {
  const hn::RebindToUnsigned<BitsTag> tag;
  return hn::BitCast(BitsTag(), hn::ShiftRight<shift>(hn::BitCast(tag, bits)));
}

template <class Layout>
HWY_INLINE Bits narrow_lanes(Fp32 value) {
  const Bits infinity = bits_of(0x7f80'0000u);
  const Bits bits = hn::BitCast(BitsTag(), value);
  const Bits sign = hn::And(bits, bits_of(0x8000'0000u));
  const Bits full = hn::Xor(bits, sign);
  const Bits magnitude = hn::Min(full, bits_of(Layout::kLimit));

  const Fp32 rounder = hn::BitCast(Fp32Tag(), bits_of(Layout::kRounder));
  const Fp32 rounded = hn::Add(hn::BitCast(Fp32Tag(), magnitude), rounder);
  const Bits subnormal = hn::Sub(hn::BitCast(BitsTag(), rounded), bits_of(Layout::kRounder));

  const Bits odd = hn::And(hn::ShiftRight<Layout::kShift>(magnitude), bits_of(1));
  const Bits bias = bits_of((1u << (Layout::kShift - 1)) - 1 - Layout::kRebias);
  const Bits normal = hn::ShiftRight<Layout::kShift>(hn::Add(hn::Add(magnitude, bias), odd));

  Bits code = hn::IfThenElse(hn::Lt(magnitude, bits_of(Layout::kMinNormal)), subnormal, normal);
  if constexpr (Layout::kOverflow == Overflow::saturate_finite) {
    code = hn::IfThenElse(hn::Eq(full, infinity), bits_of(Layout::kInfinity), code);
  }
  code = hn::Or(code, shift_right_unsigned<Layout::kSignShift>(sign));
  return hn::IfThenElse(hn::Gt(full, infinity), bits_of(Layout::kNan), code);
}

template <class Layout>
HWY_INLINE Fp32 widen_lanes(Bits code) {
  const Bits sign =
      hn::ShiftLeft<Layout::kSignShift>(hn::And(code, bits_of(Layout::kMagnitude + 1)));
  const Bits magnitude = hn::And(code, bits_of(Layout::kMagnitude));
  const Bits shifted = hn::ShiftLeft<Layout::kShift>(magnitude);

  const Fp32 offset = hn::BitCast(Fp32Tag(), bits_of(Layout::kMinNormal));
  const Fp32 lifted = hn::BitCast(Fp32Tag(), hn::Add(shifted, bits_of(Layout::kMinNormal)));
  const Bits subnormal = hn::BitCast(BitsTag(), hn::Sub(lifted, offset));

  const Bits normal = hn::Add(shifted, bits_of(Layout::kRebias));
  Bits bits = hn::IfThenElse(hn::Lt(shifted, bits_of(1u << 23)), subnormal, normal);
  if constexpr (Layout::kHasInfinity) {
    // The largest exponent moves on to fp32's largest: infinities and NaN stay what they are.
    const auto special = hn::Gt(magnitude, bits_of(Layout::kInfinity - 1));
    const Bits top = hn::Or(shifted, bits_of(0x7f80'0000u));
    bits = hn::IfThenElse(special, top, bits);
  } else {
    bits = hn::IfThenElse(hn::Eq(magnitude, bits_of(Layout::kNan)), bits_of(kFloat32Nan), bits);
  }
  return hn::BitCast(Fp32Tag(), hn::Or(bits, sign));
}

// A Format (fold_inl.hpp) for codes of 8 or 16 bits.
template <class Layout, class Code>
struct SmallFloatFormat {
  using Acc = float;
  using CodeTag = hn::Rebind<Code, Fp32Tag>;
  static constexpr std::size_t kBytes = sizeof(Code);
  static constexpr bool kRescues = false;

  HWY_INLINE Fp32 load(const std::byte* from) const {
    return widen_lanes<Layout>(hn::PromoteTo(BitsTag(), load_lanes(CodeTag(), from)));
  }
  HWY_INLINE void store(Fp32 v, std::byte* to) const {
    store_lanes(CodeTag(), hn::DemoteTo(CodeTag(), narrow_lanes<Layout>(v)), to);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#endif
