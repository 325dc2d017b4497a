// bf16, accumulated in fp32, of which it is the upper half.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/bfloat16.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include <cmath>

#include "kernels/host/small_float_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

struct Bfloat16 {
  using Acc = float;
  using CodeTag = hn::Rebind<std::uint16_t, Fp32Tag>;
  static constexpr std::size_t kBytes = 2;
  static constexpr bool kRescues = false;

  HWY_INLINE Fp32 load(const std::byte* from) const {
    const Bits code = hn::PromoteTo(BitsTag(), load_lanes(CodeTag(), from));
    return hn::BitCast(Fp32Tag(), hn::ShiftLeft<16>(code));
  }
  HWY_INLINE void store(Fp32 v, std::byte* to) const {
    const Bits bits = hn::BitCast(BitsTag(), v);
    const Bits odd = hn::And(hn::ShiftRight<16>(bits), bits_of(1));
    const Bits rounded = hn::Add(hn::Add(bits, bits_of(0x7fff)), odd);
    const auto is_nan = hn::RebindMask(BitsTag(), hn::IsNaN(v));
    const Bits code =
        hn::IfThenElse(is_nan, bits_of(kBfloat16Nan), shift_right_unsigned<16>(rounded));
    store_lanes(CodeTag(), hn::DemoteTo(CodeTag(), code), to);
  }
};

inline float load_bfloat16(const std::byte* from) {
  std::uint16_t code;
  std::memcpy(&code, from, sizeof code);
  return float_from_bfloat16(code);
}

// bf16 reaches as far as fp32: an element whose fp32 sum overflows is summed again in fp64.
struct Bfloat16Average : Bfloat16 {
  static constexpr bool kRescues = true;

  void rescue(Sources sources, std::size_t at, int ranks, std::byte* to) const {
    float sum = load_bfloat16(sources[0] + at);
    double wide = sum;
    bool all_finite = std::isfinite(sum);
    for (std::size_t source = 1; source < sources.size(); ++source) {
      const float operand = load_bfloat16(sources[source] + at);
      all_finite = all_finite && std::isfinite(operand);
      sum += operand;
      wide += operand;
    }
    float average = sum / static_cast<float>(ranks);
    if (!std::isfinite(sum) && all_finite) average = static_cast<float>(wide / ranks);
    const std::uint16_t code = bfloat16_from_float(average);
    std::memcpy(to, &code, sizeof code);
  }
};

void bfloat16(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  fold_floats<Bfloat16, Bfloat16Average>(fold, target, sources, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::host {

HWY_EXPORT(bfloat16);

void fold_bfloat16(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  HWY_DYNAMIC_DISPATCH(bfloat16)(fold, target, sources, count);
}

}  // namespace gyre::host
#endif
