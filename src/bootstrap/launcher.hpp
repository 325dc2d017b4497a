// What launchers put into the environment. Pure: the environment is a function from name to value.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace gyre {

using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// Names the process that started this one, so that another process of the same number is not taken
// for it. The ranks that one launcher daemon started share it.
std::string parent_identity();

struct Launch {
  std::string launcher;  // "torchrun", "Open MPI", "MPICH", "Slurm"; "" for none
  int rank = 0;
  int world = 1;
  int local_rank = -1;     // as the launcher says; negative: it does not
  std::string rendezvous;  // "host:port" at which rank 0 listens; empty: none known
};

// The first launcher that names both rank and world: torchrun's names first, then Open MPI's,
// MPICH/Hydra's, Slurm's. invalid_argument, naming the variable, for values that make no sense.
// `parent` stands in for a job name under MPICH's Hydra, which gives its processes none.
Result<Launch> read_launch(const Environment& environment, std::string_view parent);

// The launcher's name of this run ("" if there is none): the same on all its ranks, another one in
// every run. Launchers in the same order as above; those that gave no rank come last.
std::string job_name(const Environment& environment, std::string_view parent);

// "node[1-3,7],b2" -> "node1".
std::string first_host(std::string_view node_list);

}  // namespace gyre
