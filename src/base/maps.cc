#include "base/maps.hpp"

#include <charconv>
#include <concepts>
#include <limits>
#include <system_error>

namespace gyre {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Takes a text apart from its front; once something is not there, nothing is.
class Front {
 public:
  explicit Front(std::string_view text) : text_(text) {}

  template <std::unsigned_integral T>
  T number(int base) {
    T value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data(), end, value, base);
    good_ = good_ && error == std::errc();
    text_ = text_.substr(static_cast<std::size_t>(stop - text_.data()));
    return value;
  }
  // Whether the next character, of two allowed ones, is the first.
  bool either(char yes, char no) {
    const char next = text_.empty() ? '\0' : text_.front();
    skip(next == yes ? yes : no);
    return next == yes;
  }
  void skip(char expected) {
    good_ = good_ && text_.starts_with(expected);
    if (good_) text_.remove_prefix(1);
  }
  bool good() const { return good_; }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
  bool good_ = true;
};

std::string_view take_line(std::string_view& text) {
  const std::size_t newline = text.find('\n');
  const std::string_view line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  return line;
}

// Whether `next` goes on where `line` ends at most, in memory and in the file.
bool goes_on(const MapsLine& line, const MapsLine& next) {
  return next.major == line.major && next.minor == line.minor && next.inode == line.inode &&
         next.offset - line.offset == next.begin - line.begin;
}

}  // namespace

std::optional<MapsLine> parse_maps_line(std::string_view line) {
  MapsLine parsed;
  Front front(line);
  parsed.begin = front.number<std::uint64_t>(16);
  front.skip('-');
  parsed.end = front.number<std::uint64_t>(16);
  front.skip(' ');
  parsed.readable = front.either('r', '-');
  parsed.writable = front.either('w', '-');
  (void)front.either('x', '-');
  parsed.shared = front.either('s', 'p');
  front.skip(' ');
  parsed.offset = front.number<std::uint64_t>(16);
  front.skip(' ');
  parsed.major = front.number<std::uint32_t>(16);
  front.skip(':');
  parsed.minor = front.number<std::uint32_t>(16);
  front.skip(' ');
  parsed.inode = front.number<std::uint64_t>(10);
  if (!front.good() || parsed.begin >= parsed.end) return std::nullopt;
  if (parsed.offset > kMost - (parsed.end - parsed.begin)) return std::nullopt;
  // Without a name some kernels end the line with a blank. No name of a file begins with one.
  const std::string_view rest = front.rest();
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  const std::size_t name = rest.find_first_not_of(' ');
  if (name != std::string_view::npos) parsed.name = rest.substr(name);
  return parsed;
}

std::optional<MapsLine> find_shared_file(std::string_view maps, std::uint64_t begin,
                                         std::uint64_t bytes) {
  if (bytes == 0 || begin > kMost - bytes) return std::nullopt;
  std::optional<MapsLine> first;
  std::uint64_t reached = begin;
  while (!maps.empty()) {
    const auto line = parse_maps_line(take_line(maps));
    if (!line || line->end <= reached) continue;
    const bool usable = line->readable && line->writable && line->shared && line->inode != 0;
    if (line->begin > reached || !usable) return std::nullopt;
    if (!first) {
      first = line;
    } else if (!goes_on(*first, *line)) {
      return std::nullopt;
    }
    reached = line->end;
    if (reached >= begin + bytes) return first;
  }
  return std::nullopt;
}

}  // namespace gyre
