// TCP between any two ranks: the transport of last resort, which reaches everybody.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace gyre {

// `context` is copied; what it points to must outlive the transport.
std::unique_ptr<Transport> make_socket(const TransportContext& context);

}  // namespace gyre
