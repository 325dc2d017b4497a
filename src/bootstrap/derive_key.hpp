// Keys for what descends from a communicator (splits): every rank derives the same one.
#pragma once

#include <string_view>

#include "bootstrap/job_key.hpp"

namespace gyre {

// A key that only holders of `parent` can compute, different for every `label`.
JobKey derive_key(const JobKey& parent, std::string_view label);

}  // namespace gyre
