// The two fp8 formats, accumulated in fp32: no sum of fewer than 2^111 operands overflows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/float8.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before every header that depends on the target.
#include "kernels/host/small_float_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::host {
namespace HWY_NAMESPACE {

void float8e4m3(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  using Format = SmallFloatFormat<Float8E4m3, std::uint8_t>;
  fold_floats<Format, Format>(fold, target, sources, count);
}

void float8e5m2(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count) {
  using Format = SmallFloatFormat<Float8E5m2, std::uint8_t>;
  fold_floats<Format, Format>(fold, target, sources, count);
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
