// Facts about this process: fork, descriptors, names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace gyre {

// True in a child that was forked after Gyre was first used: its sockets and its threads belong to
// the parent, so every API call there must refuse. The first call arms the detection (together with
// the handler that closes Gyre's descriptors in the child), and may take a lock; later ones are one
// relaxed load.
bool forked();

// invalid_usage in a forked child, else ok.
Result<void> refuse_in_child();

// Makes sure that `needed` descriptors can be open at once besides those open now: raises the soft
// RLIMIT_NOFILE up to the hard one if it must. Error (system) with the numbers if even that is too
// little. Any thread.
Result<void> ensure_descriptors(std::size_t needed);

// Host name, boot id ("" where unknown), and "host h, pid 12" for messages.
std::string host_name();
std::string boot_id();
std::string process_identity();

}  // namespace gyre
