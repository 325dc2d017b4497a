// The oracle matrix: all collectives x types x operations, odd counts, offsets, in place, mapped
// memory, on worlds of ranks that are threads, processes, or driven together by one thread.
//
//   oracle_matrix --mode thread|group|process --worlds 1-8 [--seed S] [--kinds all_reduce,reduce]
//
// Which transports carry the lanes is chosen by the environment (NCCL_P2P_DISABLE,
// NCCL_SHM_DISABLE, NCCL_HOSTID), and so is the algorithm (GYRE_ALGO); process mode sets
// NCCL_HOSTID per rank for --mixed N: N ranks are on one host, and GYRE_DEVICE=host for one rank in
// N with --host-ranks N.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/collective/cases.hpp"
#include "tests/collective/rank_memory.hpp"

extern char** environ;

namespace gyre::test {
namespace {

struct Options {
  std::string mode = "thread";
  int first_world = 1, last_world = 8;
  std::uint64_t seed = 1;
  int mixed = 0;       // ranks per host; 0: all on one
  int host_ranks = 0;  // the last one of so many is on the host; 0: as the environment says
  std::string kinds;   // names, with commas; empty: all

  bool has(Kind kind) const {
    return kinds.empty() ||
           ("," + kinds + ",").find(fmt::format(",{},", name_of(kind))) != std::string::npos;
  }
  // of a child of process mode
  int rank = -1, world = 0;
  std::string id;
};

std::vector<Case> cases_for(int world, const Options& options) {
  std::vector<Case> cases;
  std::uint64_t next = options.seed * 1'000'003;
  const auto add = [&](Case one) {
    one.seed = ++next;
    one.root = static_cast<int>(next % static_cast<std::uint64_t>(world));
    cases.push_back(one);
  };
  for (int kind = 0; kind < kKinds; ++kind) {
    if (!options.has(static_cast<Kind>(kind))) continue;
    for (int type = 0; type < kTypes; ++type) {
      for (int op = 0; op < (reduces(static_cast<Kind>(kind)) ? kOps : 1); ++op) {
        for (const bool in_place : {false, true}) {
          add({.kind = static_cast<Kind>(kind),
               .type = static_cast<ncclDataType_t>(type),
               .op = static_cast<Op>(op),
               .count = 37,
               .in_place = in_place});
          add({.kind = static_cast<Kind>(kind),
               .type = static_cast<ncclDataType_t>(type),
               .op = static_cast<Op>(op),
               .count = 9973,
               .in_place = in_place,
               .offset = next % 15 + 1});
        }
      }
    }
    for (const std::uint64_t count :
         {0U, 1U, 2U, 3U, 5U, 7U, 8U, 63U, 65U, 1023U, 4099U, 65537U, 300007U}) {
      for (const bool in_place : {false, true}) {
        for (const Memory memory : {Memory::plain, Memory::mapped}) {
          add({.kind = static_cast<Kind>(kind),
               .count = count,
               .in_place = in_place,
               .memory = memory});
        }
      }
    }
    for (std::size_t offset = 1; offset <= 15; ++offset) {
      add({.kind = static_cast<Kind>(kind),
           .type = ncclBfloat16,
           .count = 101,
           .in_place = offset % 2 == 0,
           .offset = offset});
    }
  }
  return cases;
}

// Returns the number of failures, after which it stops.
int run_all(const LocalRanks& local, const Options& options, std::size_t* done) {
  for (const Case& one : cases_for(local.world, options)) {
    const std::string wrong = run_case(one, local);
    if (!wrong.empty()) {
      std::fprintf(stderr, "FAILED: world %d: %s: %s\n", local.world, describe(one).c_str(),
                   wrong.c_str());
      return 1;
    }
    ++*done;
  }
  return 0;
}

int check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return 0;
  std::fprintf(stderr, "FAILED: %s: %s\n", what, ncclGetLastError(nullptr));
  return 1;
}

int run_rank(int rank, int world, ncclUniqueId id, const Options& options, std::size_t* done) {
  LocalRanks local{world, {{rank, nullptr, rank_stream()}}};
  if (check(ncclCommInitRank(&local.ranks[0].comm, world, id, rank), "init") != 0) return 1;
  const int failed = run_all(local, options, done);
  if (failed != 0) {
    ncclCommAbort(local.ranks[0].comm);
    return failed;
  }
  return check(ncclCommDestroy(local.ranks[0].comm), "destroy");
}

int run_threads(int world, const Options& options, std::size_t* done) {
  ncclUniqueId id;
  if (check(ncclGetUniqueId(&id), "unique id") != 0) return 1;
  std::atomic<int> failed{0};
  std::vector<std::size_t> counts(static_cast<std::size_t>(world));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world; ++rank) {
      threads.emplace_back([&, rank] {
        failed += run_rank(rank, world, id, options, &counts[static_cast<std::size_t>(rank)]);
      });
    }
  }
  *done += counts[0];
  return failed;
}

int run_group(int world, const Options& options, std::size_t* done) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(world));
  // All on one device, which the host has no more of either.
  const std::vector<int> devices(static_cast<std::size_t>(world), 0);
  if (check(ncclCommInitAll(comms.data(), world, devices.data()), "init all") != 0) return 1;
  LocalRanks local{world, {}};
  for (int rank = 0; rank < world; ++rank) {
    local.ranks.push_back({rank, comms[static_cast<std::size_t>(rank)], rank_stream()});
  }
  int failed = run_all(local, options, done);
  for (ncclComm_t comm : comms) failed += check(ncclCommDestroy(comm), "destroy");
  return failed;
}

std::string hex(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

ncclUniqueId unhex(const std::string& text) {
  ncclUniqueId id;
  for (std::size_t i = 0; i < sizeof id; ++i) {
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

pid_t spawn_rank(const Options& options, int rank, int world, const std::string& id) {
  std::vector<std::string> words = {
      "oracle_matrix",       "--mode", "child", "--rank", std::to_string(rank),        "--world",
      std::to_string(world), "--id",   id,      "--seed", std::to_string(options.seed)};
  if (!options.kinds.empty()) words.insert(words.end(), {"--kinds", options.kinds});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string host = fmt::format("NCCL_HOSTID=host{}", rank / std::max(1, options.mixed));
  std::string device = "GYRE_DEVICE=host";
  std::vector<char*> environment;
  // The first one of a name counts.
  if (options.mixed != 0) environment.push_back(host.data());
  if (options.host_ranks != 0 && rank % options.host_ranks == options.host_ranks - 1) {
    environment.push_back(device.data());
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  pid_t pid = -1;
  ::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments.data(), environment.data());
  return pid;
}

int run_processes(const Options& options, int world, std::size_t* done) {
  ncclUniqueId id;
  if (check(ncclGetUniqueId(&id), "unique id") != 0) return 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    children.push_back(spawn_rank(options, rank, world, hex(id)));
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) ++failed;
  }
  *done += cases_for(world, options).size();
  return failed;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (word == "--mode") options.mode = value;
    if (word == "--kinds") options.kinds = value;
    if (word == "--mixed") options.mixed = std::stoi(value);
    if (word == "--host-ranks") options.host_ranks = std::stoi(value);
    if (word == "--seed") options.seed = std::stoull(value);
    if (word == "--rank") options.rank = std::stoi(value);
    if (word == "--world") options.world = std::stoi(value);
    if (word == "--id") options.id = value;
    if (word == "--worlds") {
      options.first_world = std::stoi(value);
      options.last_world = std::stoi(value.substr(value.find('-') + 1));
    }
  }
  return options;
}

int run(const Options& options) {
  std::size_t done = 0;
  if (options.mode == "child") {
    return run_rank(options.rank, options.world, unhex(options.id), options, &done);
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  int failed = 0;
  for (int world = options.first_world; world <= options.last_world && failed == 0; ++world) {
    if (options.mode == "thread") failed += run_threads(world, options, &done);
    if (options.mode == "group") failed += run_group(world, options, &done);
    if (options.mode == "process") failed += run_processes(options, world, &done);
  }
  std::printf("%zu cases passed, %d failed\n", done, failed);
  return failed == 0 && done > 0 ? 0 : 1;
}

}  // namespace
}  // namespace gyre::test

int main(int argc, char** argv) { return gyre::test::run(gyre::test::parse(argc, argv)); }
