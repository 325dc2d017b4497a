// The variables that tell a process which rank of which job it is, as torchrun sets them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace gyre::tools {

struct Job {
  int ranks = 1;
  std::uint16_t port = 0;  // MASTER_PORT on 127.0.0.1
  std::string id;          // GYRE_JOB_ID: unguessable, so that jobs of other users stay apart
};

// A job of `ranks` with a fresh id and a port that nobody listened on a moment ago.
Result<Job> create_job(int ranks);

// `inherited`, then the job's variables, then `extra`; a later value of a name replaces an earlier
// one. OMP_NUM_THREADS is 1 for a job of several ranks unless somebody set it: ranks that share
// the cores must not each start a thread per core.
std::vector<std::string> rank_environment(std::span<const std::string> inherited, const Job& job,
                                          int rank, std::span<const std::string> extra);

// The variables of this process.
std::vector<std::string> own_environment();

}  // namespace gyre::tools
