// From results to ncclResult_t, with the text kept for ncclGetLastError.
#pragma once

#include <string>
#include <string_view>

#include "abi/export.hpp"
#include "base/contain.hpp"
#include "base/process.hpp"
#include "base/status.hpp"

namespace gyre::abi {

ncclResult_t code_of(Status status);

// Keeps the error's text for ncclGetLastError.
void keep(std::string_view function, const Error& error) noexcept;

// The same, and logs it, once, as a WARN line.
ncclResult_t report(std::string_view function, const Error& error) noexcept;

// The line of NCCL_DEBUG=VERSION and above.
void log_version();

// The last text reported; valid until this thread's next call.
const char* last_error();

// Runs `body` (returning Result<void>) for the exported `function`: refuses in a forked child,
// lets no exception out, reports errors.
template <typename Body>
ncclResult_t guarded(std::string_view function, Body&& body) noexcept {
  const Result<void> result = contained("this process", [&]() -> Result<void> {
    GYRE_TRY(refuse_in_child());
    return body();
  });
  if (result) return ncclSuccess;
  if (result.status() == Status::in_progress) return ncclInProgress;
  return report(function, result.error());
}

}  // namespace gyre::abi
