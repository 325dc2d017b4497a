#include "bootstrap/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/environment.hpp"
#include "base/fnv.hpp"
#include "base/parse_value.hpp"
#include "bootstrap/messages.hpp"

namespace gyre {
namespace {

std::string value_of(const Environment& environment, std::string_view name) {
  return environment(name).value_or("");
}

std::string torchrun_job(const Environment& environment, std::string_view) {
  const auto job = value_of(environment, "TORCHELASTIC_RUN_ID");
  if (job.empty()) return {};
  return fmt::format("torchrun {} {}", job, value_of(environment, "TORCHELASTIC_RESTART_COUNT"));
}

std::string mpi_job(const Environment& environment, std::string_view parent) {
  for (const auto name :
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid", "PMI_JOBID"}) {
    if (const auto job = value_of(environment, name); !job.empty()) {
      return fmt::format("mpi {}", job);
    }
  }
  const auto local = environment("MPI_LOCALNRANKS");
  const bool one_host =
      environment("PMI_RANK") && local.has_value() && local == environment("PMI_SIZE");
  if (one_host && !parent.empty()) return fmt::format("hydra {}", parent);
  // The step is that of the launcher's own processes, and differs from node to node.
  const bool by_mpi = environment("PMI_RANK") || environment("OMPI_COMM_WORLD_RANK");
  const auto slurm = value_of(environment, "SLURM_JOB_ID");
  return by_mpi && !slurm.empty() ? fmt::format("mpi in slurm {}", slurm) : std::string();
}

std::string slurm_job(const Environment& environment, std::string_view) {
  const auto job = value_of(environment, "SLURM_JOB_ID");
  if (job.empty()) return {};
  return fmt::format("slurm {}.{}", job, value_of(environment, "SLURM_STEP_ID"));
}

// One launcher's names for the same facts, and how it names the run ("": not at all).
struct Names {
  std::string_view launcher, rank, world, local_rank;
  std::string (*job)(const Environment& environment, std::string_view parent);
};
constexpr std::array<Names, 4> kLaunchers = {{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", torchrun_job},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     mpi_job},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", mpi_job},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", slurm_job},
}};

Result<int> number_of(const Environment& environment, std::string_view name, std::int64_t min,
                      std::int64_t max) {
  const std::string text = environment(name).value_or("");
  const auto value = parse_integer(text);
  if (!value || *value < min || *value > max) {
    return Error{Status::invalid_argument,
                 fmt::format("{}=\"{}\" is not a number from {} to {}", name, text, min, max)};
  }
  return static_cast<int>(*value);
}

// A port that all ranks of a run derive alike, outside the range that kernels hand out.
int port_of(std::string_view job) {
  Fnv hash;
  hash.add(job);
  return static_cast<int>(20000 + hash.value() % 12000);
}

std::string slurm_host(const Environment& environment) {
  for (const auto name : {"SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (const auto list = environment(name)) return first_host(*list);
  }
  return environment("SLURM_LAUNCH_NODE_IPADDR").value_or("");
}

// "123.0;tcp://192.0.2.1,10.0.0.1:567": the first address in the contact string of Open MPI's head
// node, the same on all ranks.
std::string head_node(std::string_view contact) {
  constexpr std::string_view kScheme = "tcp://";
  const std::size_t scheme = contact.find(kScheme);
  if (scheme == std::string_view::npos) return {};
  const std::string_view rest = contact.substr(scheme + kScheme.size());
  return std::string(rest.substr(0, rest.find_first_of(":,;")));
}

// Where rank 0 listens when MASTER_ADDR and MASTER_PORT do not both say it. MASTER_ADDR alone names
// the host. The MPI launchers name the run but not rank 0's host: ranks of one host meet at
// loopback; those of several at Open MPI's head node, where rank 0 usually is.
std::string rendezvous_of(const Environment& environment, const Launch& launch,
                          std::string_view parent) {
  const std::string job = job_name(environment, parent);
  if (job.empty()) return {};
  std::string host = environment("MASTER_ADDR").value_or("");
  if (!host.empty()) {
    if (host.find(':') != std::string::npos && host.front() != '[')
      host = fmt::format("[{}]", host);
  } else if (launch.launcher == "Slurm") {
    host = slurm_host(environment);
  } else {
    const auto local = environment(launch.launcher == "Open MPI" ? "OMPI_COMM_WORLD_LOCAL_SIZE"
                                                                 : "MPI_LOCALNRANKS");
    const bool one_host = local && parse_integer(*local) == launch.world;
    host = one_host ? "127.0.0.1" : head_node(environment("OMPI_MCA_orte_hnp_uri").value_or(""));
  }
  return host.empty() ? std::string() : fmt::format("{}:{}", host, port_of(job));
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) { return environment_value(name); };
}

std::string parent_identity() {
  // The 22nd field of stat is the start time; the second, in parentheses, may contain anything.
  std::ifstream file(fmt::format("/proc/{}/stat", ::getppid()));
  std::string stat{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return fmt::format("{} {}", ::getppid(), field);
}

Result<Launch> read_launch(const Environment& environment, std::string_view parent) {
  for (const Names& names : kLaunchers) {
    if (!environment(names.rank) || !environment(names.world)) continue;
    Launch launch;
    launch.launcher = names.launcher;
    GYRE_TRY_ASSIGN(launch.world, number_of(environment, names.world, 1, kMaxWorld));
    GYRE_TRY_ASSIGN(launch.rank, number_of(environment, names.rank, 0, launch.world - 1));
    if (environment(names.local_rank)) {
      GYRE_TRY_ASSIGN(launch.local_rank, number_of(environment, names.local_rank, 0, kMaxWorld));
    }
    const auto master = environment("MASTER_ADDR");
    const auto port = environment("MASTER_PORT");
    if (master && port) {
      GYRE_TRY_ASSIGN(const int named, number_of(environment, "MASTER_PORT", 1, 65535));
      const bool v6 = master->find(':') != std::string::npos && !master->starts_with('[');
      // Under torchrun the named port is taken, by the store of its agent.
      const bool taken = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
      const int free =
          taken ? port_of(fmt::format("{} {}", job_name(environment, parent), named)) : named;
      launch.rendezvous =
          v6 ? fmt::format("[{}]:{}", *master, free) : fmt::format("{}:{}", *master, free);
    } else {
      launch.rendezvous = rendezvous_of(environment, launch, parent);
    }
    return launch;
  }
  return Launch{};
}

std::string job_name(const Environment& environment, std::string_view parent) {
  if (const auto job = value_of(environment, "GYRE_JOB_ID"); !job.empty()) return "gyre " + job;
  // Whoever gave the ranks comes first: within one job of Slurm many mpiruns may follow each other.
  for (const Names& names : kLaunchers) {
    if (!environment(names.rank) || !environment(names.world)) continue;
    if (auto name = names.job(environment, parent); !name.empty()) return name;
  }
  for (const Names& names : kLaunchers) {
    if (auto name = names.job(environment, parent); !name.empty()) return name;
  }
  return {};
}

std::string first_host(std::string_view list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string_view::npos || comma < bracket) {
    return std::string(list.substr(0, comma));
  }
  const std::size_t end = list.find_first_of("-,]", bracket);
  if (end == std::string_view::npos) return {};
  const std::string_view number = list.substr(bracket + 1, end - bracket - 1);
  const std::size_t close = list.find(']', bracket);
  if (close == std::string_view::npos) return {};
  const std::string_view suffix = list.substr(close + 1);
  return fmt::format("{}{}{}", list.substr(0, bracket), number,
                     suffix.substr(0, suffix.find_first_of(",[")));
}

}  // namespace gyre
