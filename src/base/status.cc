#include "base/status.hpp"

#include <fmt/format.h>

#include <system_error>

namespace gyre {

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
  return {Status::system,
          fmt::format("{}: {}", what, std::generic_category().message(error_number)), where};
}

}  // namespace gyre
