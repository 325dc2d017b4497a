#include "backend/last_error.hpp"

#include <utility>

namespace gyre {
namespace {

thread_local std::string last_text;

gyreResult code_of(Status status) {
  switch (status) {
    case Status::ok:
      return gyreSuccess;
    case Status::busy:
    case Status::in_progress:
      return gyreErrorNotReady;
    case Status::invalid_argument:
    case Status::invalid_usage:
      return gyreErrorInvalidArgument;
    case Status::system:
    case Status::device:
      return gyreErrorSystem;
    case Status::aborted:
    case Status::timeout:
    case Status::peer_lost:
    case Status::internal:
      break;
  }
  return gyreErrorWork;
}

}  // namespace

gyreResult device_failure(gyreResult code, std::string text) {
  last_text = std::move(text);
  return code;
}

gyreResult device_result(const Result<void>& result) {
  if (result) return gyreSuccess;
  return device_failure(code_of(result.status()), result.error().text);
}

const char* device_last_error() { return last_text.c_str(); }

}  // namespace gyre
