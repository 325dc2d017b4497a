#include "base/contain.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <system_error>

namespace gyre {
namespace {

Error error_in_words(std::string_view doing) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {Status::system, fmt::format("{}: out of memory", doing)};
  } catch (const std::system_error& error) {
    return {Status::system, fmt::format("{}: {}", doing, error.what())};
  } catch (const std::exception& exception) {
    return {Status::internal, fmt::format("{}: {}", doing, exception.what())};
  } catch (...) {
    return {Status::internal, fmt::format("{}: an exception of unknown type", doing)};
  }
}

}  // namespace

Error error_of_exception(std::string_view doing) noexcept {
  try {
    return error_in_words(doing);
  } catch (...) {
    // No memory for words: this text fits into the string object itself.
    return {Status::system, "out of memory"};
  }
}

}  // namespace gyre
