#include "trainer/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace gyre::train {
namespace {

void add_model_options(CLI::App& app, Options& o) {
  app.add_option("--layers", o.model.layers, "transformer blocks")->capture_default_str();
  app.add_option("--heads", o.model.heads, "attention heads")->capture_default_str();
  app.add_option("--width", o.model.width, "size of the residual stream")->capture_default_str();
  app.add_option("--context", o.model.context, "bytes of a sequence")->capture_default_str();
  app.add_option("--data", o.data, "text to learn")->capture_default_str();
  app.add_option("--sample", o.sample.bytes, "bytes of text to write at the end")
      ->capture_default_str();
  app.add_option("--temperature", o.sample.temperature, "of that text")
      ->check(CLI::Range(0.01F, 10.0F))
      ->capture_default_str();
}

void add_training_options(CLI::App& app, Options& o) {
  static const std::map<std::string, Schedule> schedules = {{"cosine", Schedule::cosine},
                                                            {"constant", Schedule::constant}};
  app.add_option("--batch", o.batch, "sequences of a step, all ranks together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--micro-batch", o.micro_batch,
                 "sequences of a pass; 0: the rank's share at once (with --reproducible: 1)");
  app.add_option("--steps", o.steps, "steps at most")->capture_default_str();
  app.add_option("--seconds", o.seconds, "seconds at most; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--lr", o.learning_rate.peak, "peak learning rate")->capture_default_str();
  app.add_option("--warmup", o.learning_rate.warmup_steps, "steps until the peak")
      ->capture_default_str();
  app.add_option("--schedule", o.learning_rate.schedule, "cosine (to a tenth) or constant")
      ->transform(CLI::CheckedTransformer(schedules));
  app.add_option("--weight-decay", o.optimizer.weight_decay, "of AdamW")->capture_default_str();
  app.add_option("--clip", o.optimizer.clip_norm, "largest norm of the gradient; 0: any")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of weights, batches and sample")->capture_default_str();
}

void add_running_options(CLI::App& app, Options& o) {
  app.add_option("--bucket-mb", o.bucket_mb, "MiB of gradients per all-reduce")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--device", o.device, "where gradients are summed: auto, host, cuda, hip")
      ->check(CLI::IsMember({"auto", "host", "cuda", "hip"}))
      ->capture_default_str();
  app.add_option("--threads", o.blas_threads, "BLAS threads of a rank")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--log-json", o.log_json, "file for one JSON object per step (rank 0)");
  app.add_option("--log-every", o.log_every, "steps between lines; 0: about one line a second")
      ->capture_default_str();
  app.add_flag("--reproducible", o.reproducible,
               "the same bits for 1, 2, 4, ... ranks; also by GYRE_REPRODUCIBLE=1");
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options& o = parsed.options;
  const char* reproducible = std::getenv("GYRE_REPRODUCIBLE");
  o.reproducible = reproducible != nullptr && std::string_view(reproducible) == "1";
  CLI::App app("Trains a small byte-level GPT, data-parallel over all ranks of the job.",
               "gyre-train");
  add_model_options(app, o);
  add_training_options(app, o);
  add_running_options(app, o);
  try {
    app.parse(argc, argv);
    check(o.model);
  } catch (const CLI::ParseError& error) {
    parsed.finished = true;
    parsed.exit_code = app.exit(error);
  }
  o.sample.seed = o.seed;
  return parsed;
}

Share share_of(const Options& options, int rank, int world) {
  const auto ranks = static_cast<std::size_t>(world);
  if (options.batch % ranks != 0) {
    throw std::invalid_argument(
        fmt::format("--batch {} cannot be divided among {} ranks", options.batch, world));
  }
  const std::size_t mine = options.batch / ranks;
  std::size_t micro = options.micro_batch;
  if (micro == 0) micro = options.reproducible ? 1 : mine;
  if (mine % micro != 0) {
    throw std::invalid_argument(fmt::format(
        "a rank's share of {} sequences cannot be divided by --micro-batch {}", mine, micro));
  }
  const std::size_t passes = mine / micro;
  if (options.reproducible && (!std::has_single_bit(ranks) || !std::has_single_bit(passes))) {
    throw std::invalid_argument(
        fmt::format("reproducible training needs powers of two: {} ranks, {} micro-batches each",
                    world, passes));
  }
  return {micro, passes, static_cast<std::size_t>(rank) * mine};
}

}  // namespace gyre::train
