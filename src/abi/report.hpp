// From results to ncclResult_t, with the text kept for ncclGetLastError.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "abi/export.hpp"
#include "base/process.hpp"
#include "base/status.hpp"

namespace gyre::abi {

ncclResult_t code_of(Status status);

// Keeps the error's text for ncclGetLastError and logs it, once, as a WARN line.
ncclResult_t report(std::string_view function, const Error& error);

// The last text reported; valid until this thread's next call.
const char* last_error();

// Runs `body` (returning Result<void>) for the exported `function`: refuses in a forked child,
// lets no exception out, reports errors.
template <typename Body>
ncclResult_t guarded(std::string_view function, Body&& body) noexcept {
  try {
    if (forked()) return report(function, refuse_in_child().error());
    const Result<void> result = body();
    if (result) return ncclSuccess;
    if (result.error().status == Status::in_progress) return ncclInProgress;
    return report(function, result.error());
  } catch (const std::bad_alloc&) {
    return report(function, {Status::system, "out of memory"});
  } catch (const std::exception& exception) {
    return report(function, {Status::internal, exception.what()});
  }
}

}  // namespace gyre::abi
