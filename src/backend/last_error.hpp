// The text behind gyreDeviceLastError(), and how an Error becomes a gyreResult.
#pragma once

#include <string>

#include "base/status.hpp"
#include "gyre/device.h"

namespace gyre {

// Keeps `text` for this thread and returns `code`.
gyreResult device_failure(gyreResult code, std::string text);
// gyreSuccess, or the code that fits the error, whose text is kept.
gyreResult device_result(const Result<void>& result);
const char* device_last_error();

}  // namespace gyre
