// Two ranks, one gradient each: 0 and 7. After the average both hold 3.5.
//   gyre run -n 2 build/bin/examples/average_gradients
#include "job.hpp"

int main() {
  return examples::run([] {
    const examples::Job job;
    if (job.world() != 2) throw std::runtime_error("start it with two ranks: gyre run -n 2");
    const examples::Floats gradient(job, {job.rank() == 0 ? 0.0F : 7.0F});
    examples::require(COMM_ALL_REDUCE(gradient.data(), gradient.data(), gradient.count(),
                                      COMM_FLOAT, COMM_AVG, job.comm(), job.comm_stream()));
    job.wait();
    const float average = gradient.read()[0];
    std::printf("rank %d: %g\n", job.rank(), static_cast<double>(average));
    return average == 3.5F;
  });
}
