#include "kernels/host/reduce.hpp"

#include <cstring>

#include "kernels/host/families.hpp"

namespace gyre {

void copy(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  if (bytes != 0 && target != source) std::memcpy(target, source, bytes);
}

void fold(const Fold& fold, std::byte* target, std::span<const std::byte* const> sources,
          std::uint64_t count) {
  if (count == 0) return;
  if (sources.size() == 1 && !host::scales(fold) && !host::divides(fold)) {
    return copy(target, sources[0], count * size_of(fold.type));
  }
  switch (fold.type) {
    case DataType::float16:
      return host::fold_half(fold, target, sources, count);
    case DataType::float32:
      return host::fold_float32(fold, target, sources, count);
    case DataType::float64:
      return host::fold_float64(fold, target, sources, count);
    case DataType::bfloat16:
      return host::fold_bfloat16(fold, target, sources, count);
    case DataType::float8e4m3:
      return host::fold_float8e4m3(fold, target, sources, count);
    case DataType::float8e5m2:
      return host::fold_float8e5m2(fold, target, sources, count);
    case DataType::int8:
    case DataType::uint8:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return host::fold_integer(fold, target, sources, count);
  }
}

}  // namespace gyre
