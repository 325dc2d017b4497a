// Shared memory between the processes of one host. Nameless memory (memfd) handed over by
// descriptor: /dev/shm is not involved, and nothing stays behind when everybody is killed.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace gyre {

// `context` is copied; what it points to must outlive the transport. Needs a bell segment: without
// one, or where the kernel refuses memfd_create, the transport reaches nobody (and says so once).
std::unique_ptr<Transport> make_shm(const TransportContext& context);

}  // namespace gyre
