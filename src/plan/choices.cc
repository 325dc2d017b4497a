#include "plan/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/parse_value.hpp"

namespace gyre {
namespace {

// The planned kinds are the first ones: their index in both tables is the same.
static_assert(index_of(kPlannedKinds.front()) == 0 &&
              index_of(kPlannedKinds.back()) == kPlannedKinds.size() - 1);

Algorithm usual(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
      return Algorithm::two_shot;
    case CallKind::gather:
    case CallKind::scatter:
    case CallKind::all_to_all:
      return Algorithm::pairwise;
    default:
      return Algorithm::direct;
  }
}

constexpr int kMostSliceLog2 = 40;
constexpr std::size_t kDecisionBytes = 2 + sizeof(float);
constexpr std::size_t kEncodedBytes = kPlannedKinds.size() * 2 * kSizeClasses * kDecisionBytes;

std::string bytes_text(std::uint64_t bytes) {
  return text_of_bytes(static_cast<std::int64_t>(bytes));
}

std::string column_text(const Choices& choices, CallKind kind, bool fixed_order) {
  std::string text;
  for (int size = 0; size < kSizeClasses; ++size) {
    const Choice& choice = choices.at(kind, fixed_order, size).choice;
    const bool last = size + 1 == kSizeClasses;
    if (!last && choices.at(kind, fixed_order, size + 1).choice == choice) continue;
    text += fmt::format(" {}", name_of(choice.algorithm));
    if (choice.slice_bytes != 0) text += "@" + bytes_text(choice.slice_bytes);
    if (!last) text += fmt::format(" to {},", bytes_text(largest_of_class(size)));
  }
  return text;
}

std::byte byte_of_slice(std::uint64_t bytes) {
  return static_cast<std::byte>(bytes == 0 ? 0 : std::bit_width(bytes) - 1);
}

}  // namespace

int size_class(std::uint64_t bytes) {
  return bytes <= 1 ? 0 : std::min(kSizeClasses - 1, static_cast<int>(std::bit_width(bytes - 1)));
}

Choices::Choices() {
  for (const CallKind kind : kPlannedKinds) {
    for (Sizes& sizes : table_[index_of(kind)]) sizes.fill({{usual(kind), 0}, 0});
  }
}

double Choices::seconds(CallKind kind, bool fixed_order, std::uint64_t bytes) const {
  const int size = size_class(bytes);
  const double here = at(kind, fixed_order, size).seconds;
  if (size == 0) return here;
  const double before = at(kind, fixed_order, size - 1).seconds;
  const auto least = static_cast<double>(largest_of_class(size - 1));
  return before + (here - before) * (static_cast<double>(bytes) - least) / least;
}

std::string describe(const Choices& choices, CallKind kind) {
  const std::string any = column_text(choices, kind, false);
  const std::string fixed = column_text(choices, kind, true);
  const std::string_view name = name_of(*collective_of(kind));
  return any == fixed ? fmt::format("{}:{}", name, any)
                      : fmt::format("{}:{}; in rank order{}", name, any, fixed);
}

std::vector<std::byte> encode(const Choices& choices) {
  std::vector<std::byte> out;
  out.reserve(kEncodedBytes);
  for (const CallKind kind : kPlannedKinds) {
    for (const bool fixed : {false, true}) {
      for (int size = 0; size < kSizeClasses; ++size) {
        const Decision& decision = choices.at(kind, fixed, size);
        out.push_back(static_cast<std::byte>(decision.choice.algorithm));
        out.push_back(byte_of_slice(decision.choice.slice_bytes));
        std::array<std::byte, sizeof decision.seconds> seconds;
        std::memcpy(seconds.data(), &decision.seconds, seconds.size());
        out.insert(out.end(), seconds.begin(), seconds.end());
      }
    }
  }
  return out;
}

Result<Choices> decode_choices(std::span<const std::byte> bytes) {
  const Error bad{Status::internal, "rank 0 sent a plan that cannot be read"};
  if (bytes.size() != kEncodedBytes) return bad;
  Choices choices;
  for (const CallKind kind : kPlannedKinds) {
    for (const bool fixed : {false, true}) {
      for (int size = 0; size < kSizeClasses; ++size) {
        const auto algorithm = std::to_integer<int>(bytes[0]);
        const auto slice = std::to_integer<int>(bytes[1]);
        float seconds = 0;
        std::memcpy(&seconds, &bytes[2], sizeof seconds);
        bytes = bytes.subspan(kDecisionBytes);
        if (algorithm >= kAlgorithms || slice > kMostSliceLog2 || !(seconds >= 0)) return bad;
        const auto name = static_cast<Algorithm>(algorithm);
        if (schedule_of(kind, name) == nullptr) return bad;
        choices.at(kind, fixed, size) = {{name, slice == 0 ? 0 : std::uint64_t{1} << slice},
                                         seconds};
      }
    }
  }
  return choices;
}

}  // namespace gyre
