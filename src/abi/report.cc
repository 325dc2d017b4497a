#include "abi/report.hpp"

#include <fmt/format.h>

#include <mutex>

#include "base/log.hpp"
#include "base/settings.hpp"

namespace gyre::abi {
namespace {

constexpr std::int64_t kFirstVersionWithTimeout = 23003;

struct LastError {
  std::mutex mutex;
  std::string text;
};

LastError& last() {
  static LastError* const instance = new LastError;  // outlives every static destructor
  return *instance;
}

}  // namespace

ncclResult_t code_of(Status status) {
  switch (status) {
    case Status::ok:
      return ncclSuccess;
    case Status::in_progress:
      return ncclInProgress;
    case Status::busy:
      return ncclInProgress;
    case Status::aborted:
      return ncclInvalidUsage;
    case Status::timeout:
      // Clients of older versions know no code 8.
      return settings() && settings()->nccl_version >= kFirstVersionWithTimeout ? ncclTimeout
                                                                                : ncclRemoteError;
    case Status::peer_lost:
      return ncclRemoteError;
    case Status::system:
      return ncclSystemError;
    case Status::device:
      return ncclUnhandledCudaError;
    case Status::invalid_argument:
      return ncclInvalidArgument;
    case Status::invalid_usage:
      return ncclInvalidUsage;
    case Status::internal:
      return ncclInternalError;
  }
  return ncclInternalError;
}

void keep(std::string_view function, const Error& error) noexcept {
  // Without memory for the text, the code alone has to do.
  (void)contained("", [&]() -> Result<void> {
    std::string text = fmt::format("{}: {}", function, error.text);
    LastError& kept = last();
    const std::lock_guard lock(kept.mutex);
    kept.text = std::move(text);
    return {};
  });
}

ncclResult_t report(std::string_view function, const Error& error) noexcept {
  (void)contained("", [&]() -> Result<void> {
    if (log_enabled(LogLevel::warn, Subsystem::init)) {
      log_warn_line(error.where, fmt::format("{}: {}", function, error.text));
    }
    return {};
  });
  keep(function, error);
  return code_of(error.status);
}

void log_version() {
  if (!log_enabled(LogLevel::version, Subsystem::init)) return;
  const auto code = settings() ? settings()->nccl_version : NCCL_VERSION_CODE;
  // Until 2.8 a version had one digit for its second number, since then two.
  const std::int64_t minors = code < 10'000 ? 10 : 100;
  log_line(LogLevel::version, fmt::format("NCCL version {}.{}.{}+gyre", code / (100 * minors),
                                          code / 100 % minors, code % 100));
}

const char* last_error() {
  static thread_local std::string copy;
  LastError& kept = last();
  const std::lock_guard lock(kept.mutex);
  copy = kept.text;
  return copy.c_str();
}

}  // namespace gyre::abi
