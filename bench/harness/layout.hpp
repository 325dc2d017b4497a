// Who is who in a run: processes, the communicator each belongs to, and its ranks.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/device.hpp"
#include "bench/harness/group.hpp"
#include "bench/harness/library.hpp"
#include "bench/harness/options.hpp"

namespace gyre::bench {

struct Layout {
  int process = 0;  // in the whole run
  int processes = 1;
  int local_process = 0;  // on this machine
  int local_processes = 1;
  int colour = 0;  // of this process's communicator
  int member = 0;  // this process among those of its colour
  int members = 1;
  int leader = 0;  // the process that makes the communicator's id
  int threads = 1;
  int gpus = 1;

  bool is_main() const { return process == 0; }
  int ranks_here() const { return threads * gpus; }
  int ranks() const { return members * ranks_here(); }
  int rank(int thread, int gpu) const { return (member * threads + thread) * gpus + gpu; }
};

// Collective over the processes. Reads NCCL_TESTS_SPLIT and NCCL_TESTS_SPLIT_MASK.
Layout make_layout(ProcessGroup& group, const Options& options);

// The communicator's id, the same on all processes of one colour. Collective.
ncclUniqueId share_unique_id(ProcessGroup& group, const Layout& layout, const Library& library);

// One rank of the "Using devices" list.
struct DeviceLine {
  int rank = 0;
  int group = 0;
  int pid = 0;
  int device = 0;
  char hostname[128] = {};
  char name[128] = {};
};

// The lines of all ranks of all processes. Collective. `infos` has one entry per rank here.
std::vector<DeviceLine> gather_device_lines(ProcessGroup& group, const Layout& layout,
                                            const std::vector<gyreDeviceInfo>& infos);

std::string short_hostname();

}  // namespace gyre::bench
