// Decorators of any transport, chosen by GYRE_HOOK: trace, fault, throttle.
#pragma once

#include <memory>
#include <string_view>

#include "transport/transport.hpp"

namespace gyre {

// `inner`, hooked as `plan` (GYRE_HOOK's value) says. A plan that is wrong makes offer() fail with
// an error that names it.
std::unique_ptr<Transport> make_hook(std::unique_ptr<Transport> inner, std::string_view plan,
                                     const TransportContext& context);

}  // namespace gyre
