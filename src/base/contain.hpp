// Where exceptions end: inside, errors are values, but the standard library throws when memory or
// threads run out. Whatever calls from outside (an exported function, a thread's body, the phases
// of init) runs its work in contained(), so that running out is an error like any other.
#pragma once

#include <string_view>

#include "base/status.hpp"

namespace gyre {

// What the exception being handled says, in the words of an Error. Call it in a catch block only.
Error error_of_exception(std::string_view doing) noexcept;

// The Result of `body`, or of what it threw; `doing` says who was at what.
template <typename Body>
auto contained(std::string_view doing, Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return error_of_exception(doing);
  }
}

}  // namespace gyre
