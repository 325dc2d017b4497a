// One source for NCCL, RCCL and Gyre: gradients averaged over all ranks, then a message around the
// ring of ranks.
//   gyre run -n 4 build/bin/examples/sync_gradients
#include "job.hpp"

namespace {

using examples::Floats;
using examples::Job;
using examples::require;

// Sums over the ranks, then scales by 1 / world.
void sync_gradients(const Job& job, const Floats& gradients) {
  require(COMM_ALL_REDUCE(gradients.data(), gradients.data(), gradients.count(), COMM_FLOAT,
                          COMM_SUM, job.comm(), job.comm_stream()));
  job.wait();
  int world = 0;
  require(COMM_COUNT(job.comm(), &world));
  std::vector<float> values = gradients.read();
  for (float& value : values) value /= static_cast<float>(world);
  gradients.write(values);
}

// Sends to the next rank while receiving from the one before. Both calls are in one group: alone,
// each would wait for the other rank's matching call.
void exchange_with_neighbours(const Job& job, const Floats& mine, const Floats& theirs) {
  int rank = 0;
  require(COMM_RANK(job.comm(), &rank));
  const int next = (rank + 1) % job.world();
  const int previous = (rank + job.world() - 1) % job.world();
  require(COMM_GROUP_START());
  require(COMM_SEND(mine.data(), mine.count(), COMM_FLOAT, next, job.comm(), job.comm_stream()));
  require(COMM_RECV(theirs.data(), theirs.count(), COMM_FLOAT, previous, job.comm(),
                    job.comm_stream()));
  require(COMM_GROUP_END());
  job.wait();
}

bool healthy(const Job& job) {
  COMM_RESULT_T state = COMM_SUCCESS;
  require(COMM_GET_ERROR(job.comm(), &state));
  return state == COMM_SUCCESS;
}

}  // namespace

int main() {
  return examples::run([] {
    const Job job;
    // Rank r's gradient i is r * i, so the average is i * (world - 1) / 2.
    std::vector<float> values(1000), expected(1000);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(job.rank()) * static_cast<float>(i);
      expected[i] = static_cast<float>(i) * static_cast<float>(job.world() - 1) / 2.0F;
    }
    const Floats gradients(job, values);
    sync_gradients(job, gradients);
    const bool averaged = gradients.read() == expected;

    const Floats mine(job, std::vector<float>(8, static_cast<float>(job.rank())));
    const Floats theirs(job, std::vector<float>(8, -1.0F));
    exchange_with_neighbours(job, mine, theirs);
    const int previous = (job.rank() + job.world() - 1) % job.world();
    const bool received = theirs.read() == std::vector<float>(8, static_cast<float>(previous));

    std::printf("rank %d of %d: gradients %s, message from rank %d %s\n", job.rank(), job.world(),
                averaged ? "averaged" : "WRONG", previous, received ? "received" : "WRONG");
    return averaged && received && healthy(job);
  });
}
