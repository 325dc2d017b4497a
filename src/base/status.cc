#include "base/status.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>

namespace gyre {
namespace {

// Its text fits into the string object itself, so that it can be copied without memory. Never
// destroyed: results that hold it may outlive any static object. In place: there is no memory.
Error& out_of_memory() noexcept {
  alignas(Error) static std::byte place[sizeof(Error)];
  static auto* error = new (place) Error{Status::system, "out of memory"};
  return *error;
}

Error* kept(Error&& error) noexcept {
  Error* const made = new (std::nothrow) Error(std::move(error));
  return made == nullptr ? &out_of_memory() : made;
}

Error* copied(const Error& error) noexcept {
  try {
    return new Error(error);
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  }
}

}  // namespace

void MaybeError::Release::operator()(Error* error) const noexcept {
  if (error != &out_of_memory()) delete error;
}

MaybeError::MaybeError(Error error) noexcept : error_(kept(std::move(error))) {}

MaybeError::MaybeError(const MaybeError& other) noexcept
    : error_(other.there() ? copied(other.get()) : nullptr) {}

Error MaybeError::take() && noexcept {
  if (error_.get() == &out_of_memory()) return *error_;
  return std::move(*error_);
}

std::string_view name_of(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::busy:
      return "busy";
    case Status::in_progress:
      return "in progress";
    case Status::aborted:
      return "aborted";
    case Status::timeout:
      return "timeout";
    case Status::peer_lost:
      return "peer lost";
    case Status::system:
      return "system error";
    case Status::device:
      return "device error";
    case Status::invalid_argument:
      return "invalid argument";
    case Status::invalid_usage:
      return "invalid usage";
    case Status::internal:
      return "internal error";
  }
  return "unknown";
}

Error system_error(std::string_view what, int error_number, SourcePlace where) {
  // The one shortage that the user can mend.
  const std::string_view remedy =
      error_number == EMFILE ? " (raise the limit of open files, ulimit -n)" : "";
  return {Status::system,
          fmt::format("{}: {}{}", what, std::generic_category().message(error_number), remedy),
          where};
}

}  // namespace gyre
