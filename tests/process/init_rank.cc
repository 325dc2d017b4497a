// One rank that tells when it entered its init and when that was done, on the clock that all
// processes of a machine share. Then one all-reduce.
#include <nccl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "gyre/gyre.hpp"

namespace {

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool sums_ranks(ncclComm_t comm) {
  int world = 0;
  int rank = 0;
  ncclCommCount(comm, &world);
  ncclCommUserRank(comm, &rank);
  int sum = rank;
  return ncclAllReduce(&sum, &sum, 1, ncclInt32, ncclSum, comm, nullptr) == ncclSuccess &&
         sum == world * (world - 1) / 2;
}

}  // namespace

int main() {
  try {
    const double entered = now();
    ncclComm_t comm = gyre::init();
    const double ready = now();
    if (!sums_ranks(comm)) return 1;
    // One write, so that lines of ranks do not mix.
    std::array<char, 80> line{};
    const int length = std::snprintf(line.data(), line.size(), "%.6f %.6f\n", entered, ready);
    if (::write(STDOUT_FILENO, line.data(), static_cast<std::size_t>(length)) != length) return 1;
    return ncclCommDestroy(comm) == ncclSuccess ? 0 : 1;
  } catch (const gyre::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
