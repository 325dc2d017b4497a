// What a rank still has to say when it has closed its communicator.
#pragma once

#include <memory>
#include <vector>

#include "transport/socket/link.hpp"

namespace gyre::socket {

// Lets the reactor send the rest and the goodbyes of `links`, and keep the connections until the
// peers have ended theirs too, 5 s at most. Does not block.
void linger(std::vector<std::unique_ptr<SocketLink>> links);

}  // namespace gyre::socket
