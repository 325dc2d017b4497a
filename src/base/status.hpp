// Errors as values. The function that decides an error writes its text once (who, what, remedy);
// callers pass it on unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gyre {

enum class Status : std::uint8_t {
  ok,
  busy,              // not now: back-pressure, or nothing there yet
  in_progress,       // a non-blocking communicator is still at work
  aborted,           // this rank aborted the communicator
  timeout,           // a deadline passed
  peer_lost,         // another rank died, left or aborted
  system,            // a system call failed
  invalid_argument,  // a value that can never be right
  invalid_usage,     // a call that is not allowed now, or not provided
  internal,          // a defect of Gyre
};

std::string_view name_of(Status status);

struct Error {
  Status status = Status::internal;
  std::string text;
  // Where it was decided: the braces that made it.
  std::source_location where = std::source_location::current();
};

// An error from errno: "<what>: <strerror>".
Error system_error(std::string_view what, int error_number,
                   std::source_location where = std::source_location::current());

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }
  Status status() const { return *this ? Status::ok : error().status; }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }
  Status status() const { return error_ ? error_->status : Status::ok; }

 private:
  std::optional<Error> error_;
};

}  // namespace gyre

// Returns the error of `expression` from the enclosing function, if it has one.
#define GYRE_TRY(expression)                               \
  do {                                                     \
    if (auto gyre_result_ = (expression); !gyre_result_) { \
      return std::move(gyre_result_).error();              \
    }                                                      \
  } while (false)

#define GYRE_CONCAT_INNER(a, b) a##b
#define GYRE_CONCAT(a, b) GYRE_CONCAT_INNER(a, b)
#define GYRE_TRY_ASSIGN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                  \
  if (!temporary) return std::move(temporary).error();            \
  declaration = *std::move(temporary)

// GYRE_TRY_ASSIGN(auto fd, open_it()): declares `fd` from the value, or returns the error.
#define GYRE_TRY_ASSIGN(declaration, expression) \
  GYRE_TRY_ASSIGN_INNER(GYRE_CONCAT(gyre_result_, __LINE__), declaration, expression)
