// Errors as values. The function that decides an error writes its text once (who, what, remedy);
// callers pass it on unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/source_place.hpp"

namespace gyre {

enum class Status : std::uint8_t {
  ok,
  busy,              // not now: back-pressure, or nothing there yet
  in_progress,       // a non-blocking communicator is still at work
  aborted,           // this rank aborted the communicator
  timeout,           // a deadline passed
  peer_lost,         // another rank died, left or aborted
  system,            // a system call failed
  device,            // a device, or its driver, failed
  invalid_argument,  // a value that can never be right
  invalid_usage,     // a call that is not allowed now, or not provided
  internal,          // a defect of Gyre
};

std::string_view name_of(Status status);

struct Error {
  Status status = Status::internal;
  std::string text;
  // Where it was decided: the braces that made it.
  SourcePlace where = SourcePlace::here();
};

// An error from errno: "<what>: <strerror>".
Error system_error(std::string_view what, int error_number,
                   SourcePlace where = SourcePlace::here());

// An error that costs one pointer where there is none: results are made and dropped on every step
// of every call. Where memory for an error is lacking, the error is that: a failure to report never
// throws.
class MaybeError {
 public:
  MaybeError() = default;
  explicit MaybeError(Error error) noexcept;
  MaybeError(const MaybeError& other) noexcept;
  MaybeError(MaybeError&&) = default;
  MaybeError& operator=(const MaybeError& other) noexcept { return *this = MaybeError(other); }
  MaybeError& operator=(MaybeError&&) = default;
  ~MaybeError() = default;

  bool there() const { return error_ != nullptr; }
  const Error& get() const { return *error_; }
  // The error itself, once.
  Error take() && noexcept;

 private:
  struct Release {
    void operator()(Error* error) const noexcept;
  };

  std::unique_ptr<Error, Release> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) noexcept : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.there(); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return error_.get(); }
  Error error() && noexcept { return std::move(error_).take(); }
  Status status() const { return *this ? Status::ok : error().status; }

 private:
  std::optional<T> value_;  // empty if and only if there is an error
  MaybeError error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) noexcept : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.there(); }
  const Error& error() const& { return error_.get(); }
  Error error() && noexcept { return std::move(error_).take(); }
  Status status() const { return error_.there() ? error_.get().status : Status::ok; }

 private:
  MaybeError error_;
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
