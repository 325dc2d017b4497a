#include "bench/harness/layout.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/harness/split.hpp"

namespace gyre::bench {
namespace {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// `to` is all zeros.
void copy_text(std::span<char> to, std::string_view from) {
  std::copy_n(from.begin(), std::min(from.size(), to.size() - 1), to.begin());
}

}  // namespace

std::string short_hostname() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "unknown";
  const std::string full(name);
  return full.substr(0, full.find('.'));
}

Layout make_layout(ProcessGroup& group, const Options& options) {
  Layout layout;
  layout.process = group.rank();
  layout.processes = group.size();
  layout.local_process = group.local_rank();
  layout.local_processes = group.local_size();
  layout.threads = options.threads;
  layout.gpus = options.gpus;
  layout.colour = split_colour(layout.process, environment("NCCL_TESTS_SPLIT_MASK"),
                               environment("NCCL_TESTS_SPLIT"));
  const auto colours = all_gather_values(group, layout.colour);
  layout.members = 0;
  layout.leader = -1;
  for (int process = 0; process < layout.processes; ++process) {
    if (colours[static_cast<std::size_t>(process)] != layout.colour) continue;
    if (layout.leader < 0) layout.leader = process;
    if (process == layout.process) layout.member = layout.members;
    ++layout.members;
  }
  return layout;
}

ncclUniqueId share_unique_id(ProcessGroup& group, const Layout& layout, const Library& library) {
  ncclUniqueId mine{};
  if (layout.process == layout.leader) {
    library.check(library.get_unique_id(&mine), "ncclGetUniqueId");
  }
  return all_gather_values(group, mine)[static_cast<std::size_t>(layout.leader)];
}

std::vector<DeviceLine> gather_device_lines(ProcessGroup& group, const Layout& layout,
                                            const std::vector<gyreDeviceInfo>& infos) {
  std::vector<DeviceLine> mine(infos.size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    mine[i].rank = layout.rank(0, static_cast<int>(i));
    mine[i].group = layout.colour;
    mine[i].pid = static_cast<int>(getpid());
    mine[i].device = infos[i].ordinal;
    copy_text(mine[i].hostname, short_hostname());
    copy_text(mine[i].name, infos[i].name);
  }
  const auto bytes = group.all_gather(std::as_bytes(std::span(mine)));
  std::vector<DeviceLine> lines(bytes.size() / sizeof(DeviceLine));
  std::memcpy(lines.data(), bytes.data(), lines.size() * sizeof(DeviceLine));
  return lines;
}

}  // namespace gyre::bench
