// gyre-train: one rank of a data-parallel training run. Start it with `gyre run -n N`, torchrun,
// mpirun or srun; alone it is a world of one.
#include <fmt/format.h>
#include <gyre/comm.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <gyre/gyre.hpp>
#include <vector>

#include "trainer/communicator.hpp"
#include "trainer/matmul.hpp"
#include "trainer/train.hpp"

namespace gyre::train {
namespace {

// Rank 0's id on every rank.
COMM_ID share_id(ProcessGroup& group) {
  COMM_ID id{};
  if (group.rank() == 0 && COMM_GET_ID(&id) != COMM_SUCCESS) {
    throw std::runtime_error(COMM_LAST_ERROR(nullptr));
  }
  std::vector<std::byte> bytes(sizeof id);
  std::memcpy(bytes.data(), &id, sizeof id);
  group.broadcast(bytes, 0);
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

void print_head(const Options& options, const Text& text, const Trainer& trainer, int world,
                const Device& device) {
  fmt::print("{} parameters, {} bytes of text, {} ranks, gradients summed on: {}{}\n",
             trainer.parameter_count(), text.size(), world, device.name(),
             options.reproducible ? ", reproducible" : "");
}

void print_sample(const Options& options, Trainer& trainer) {
  if (options.sample.bytes == 0) return;
  const std::string text = sample(trainer.model(), trainer.parameters(), "\n", options.sample);
  fmt::print("--- sample\n{}\n---\n", printable(text));
}

int run(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  set_blas_threads(options.blas_threads);
  ProcessGroup group;
  const bool leads = group.rank() == 0;
  gyreDeviceKind kind = gyreDeviceAuto;
  require(gyreDeviceKindParse(options.device.c_str(), &kind));
  const Device device(kind, group.local_rank());
  const Text text = Text::read(options.data, options.model.context);
  const SumOrder order = options.reproducible ? SumOrder::pairwise : SumOrder::library;
  share_of(options, group.rank(), group.size());  // refuses before anybody connects
  Communicator communicator(share_id(group), group.rank(), group.size(), order);
  Trainer trainer(options, text, device, communicator, group.rank(), group.size());
  Progress progress(!leads, options.steps, options.log_every, options.log_json);
  if (leads) print_head(options, text, trainer, group.size(), device);
  trainer.run(progress);
  // Rank 0 holds the rendezvous of the others, so it must not end before they are done. What it
  // does alone from here may take longer than a barrier waits.
  group.barrier();
  if (leads) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    progress.finish(trainer.held_out_loss(), hash_of(trainer.parameters()), seconds.count());
    print_sample(options, trainer);
  }
  return 0;
}

}  // namespace
}  // namespace gyre::train

int main(int argc, char** argv) {
  try {
    const auto parsed = gyre::train::parse_options(argc, argv);
    if (parsed.finished) return parsed.exit_code;
    return gyre::train::run(parsed.options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gyre-train: {}\n", error.what());
    return 1;
  }
}
