// Chooses and loads back-ends: the host's is built in, CUDA's and HIP's are plugins.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "gyre/plugin.h"

namespace gyre {

// The words of GYRE_DEVICE: auto, host, cuda, hip.
Result<gyreDeviceKind> parse_device_kind(std::string_view text);
const char* name_of(gyreDeviceKind kind);

// Loads one plugin and checks its table: version, size, kind, required entries. A loaded library
// stays for the life of the process, since drivers do not survive being unloaded.
Result<const gyreBackend*> load_plugin(const std::string& path, gyreDeviceKind kind);

// The back-end of a kind. Auto takes CUDA's plugin if it is there and a device answers, else HIP's,
// else the host. Asking for cuda or hip without plugin or device is an error that says which.
Result<const gyreBackend*> find_backend(gyreDeviceKind kind);

// The back-end that GYRE_DEVICE asks for.
Result<const gyreBackend*> wanted_backend();

}  // namespace gyre
