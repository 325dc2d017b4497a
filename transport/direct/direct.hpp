// Direct: between ranks of one process. A lane is ordinary memory, and large payloads are read
// where they lie, since both ranks share an address space.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace gyre {

// `context` is copied; what it points to must outlive the transport. If the context has no bell
// segment, the bell's word must outlive the peers' transports too: they ring it without a lock.
std::unique_ptr<Transport> make_direct(const TransportContext& context);

}  // namespace gyre
