// Memory that a rank's calls can use, and the stream they go on: of the host, or of the device that
// GYRE_DEVICE and the machine give, with a copy on the host to fill and to compare.
#pragma once

#include <nccl.h>

#include <cstddef>

#include "gyre/device.h"

namespace gyre::test {

// The device of this process's ranks. Aborts the test with the reason if there is none.
gyreDevice_t rank_device();
bool ranks_are_on_device();

// A stream for one rank's calls: null on the host. Ranks on one device need one each, since they
// wait for each other. Kept until the process ends.
cudaStream_t rank_stream();
// Until the stream's work is done; an error text, or "".
const char* wait_for(cudaStream_t stream);

// Device memory like `bytes` at `host`; null on the host. Taken from a pool and given back there:
// freeing waits for the device, where a peer may wait for this rank.
std::byte* take_mirror(std::size_t bytes);
void give_mirror(std::byte* mirror, std::size_t bytes);
void push(std::byte* mirror, const std::byte* host, std::size_t bytes);
void pull(std::byte* host, const std::byte* mirror, std::size_t bytes);

}  // namespace gyre::test
