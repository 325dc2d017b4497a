#include "trainer/train.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "trainer/cross_entropy.hpp"

namespace gyre::train {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

constexpr std::size_t kHeldOutSequences = 64;

}  // namespace

Trainer::Trainer(const Options& options, const Text& text, const Device& device, SumOverRanks& sum,
                 int rank, int world)
    : options_(options),
      text_(text),
      share_(share_of(options, rank, world)),
      world_(world),
      model_(options.model, share_.micro_batch),
      parameters_(model_.layout().size),
      gradients_(kSlots + model_.layout().size),
      inputs_(share_.micro_batch * options.model.context),
      targets_(inputs_.size()),
      optimizer_(model_.layout(), options.optimizer),
      passes_(gradients_.size()),
      sync_(device, sum, gradients_, static_cast<std::size_t>(options.bucket_mb * 0x1.0p20)) {
  initialize(options.model, model_.layout(), options.seed, parameters_);
}

MicroBatch Trainer::load(std::size_t index, std::size_t pass) {
  const std::size_t context = options_.model.context;
  for (std::size_t i = 0; i < share_.micro_batch; ++i) {
    text_.training_sequence(options_.seed, index, share_.first + pass * share_.micro_batch + i,
                            &inputs_[i * context], &targets_[i * context]);
  }
  return {share_.micro_batch, inputs_, targets_};
}

void Trainer::one_pass(std::size_t index, std::size_t pass, bool send) {
  const float scale = 1.0F / static_cast<float>(options_.batch * options_.model.context);
  const double loss =
      model_.backward(parameters_, load(index, pass), scale, std::span(gradients_).subspan(kSlots),
                      [&](std::size_t offset) {
                        if (send) sync_.final_from(kSlots + offset);
                      });
  gradients_[kLossSlot] += static_cast<float>(loss);
}

// Fills `gradients_` with the sum over this rank's passes. Where the grouping is the caller's, all
// but the last bucket leave while the last pass computes; a reproducible sum is ready at its end.
void Trainer::accumulate(std::size_t index) {
  const std::size_t passes = share_.micro_batches;
  const bool tree = options_.reproducible && passes > 1;
  passes_.clear();
  for (std::size_t pass = 0; pass < passes; ++pass) {
    if (tree || pass == 0) std::fill(gradients_.begin(), gradients_.end(), 0.0F);
    one_pass(index, pass, !tree && pass + 1 == passes);
    if (tree) passes_.add(gradients_);
  }
  if (tree) std::copy(passes_.sum().begin(), passes_.sum().end(), gradients_.begin());
}

StepReport Trainer::step(std::size_t index, double over) {
  const auto begin = Clock::now();
  accumulate(index);
  gradients_[kTimeSlot] = static_cast<float>(over);
  sync_.finish();
  const double steps_over = static_cast<double>(index) / static_cast<double>(options_.steps);
  const float rate = options_.learning_rate.at(index, std::max(steps_over, time_over_));
  const double norm = optimizer_.step(rate, std::span(gradients_).subspan(kSlots), parameters_);
  time_over_ = static_cast<double>(gradients_[kTimeSlot]) / world_;
  const std::size_t tokens = options_.batch * options_.model.context;
  return {.step = index + 1,
          .loss = static_cast<double>(gradients_[kLossSlot]) / static_cast<double>(tokens),
          .norm = norm,
          .learning_rate = rate,
          .tokens = tokens,
          .step_ms = ms_since(begin),
          .busy_ms = sync_.busy_ms(),
          .waited_ms = sync_.waited_ms()};
}

void Trainer::run(Progress& progress) {
  const auto begin = Clock::now();
  bool last = options_.steps == 0;
  for (std::size_t index = 0; !last; ++index) {
    const double over = options_.seconds > 0 ? ms_since(begin) / 1e3 / options_.seconds : 0.0;
    const StepReport report = step(index, over);
    last = index + 1 == options_.steps || time_over_ >= 1.0;
    progress.report(report, last);
  }
}

double Trainer::held_out_loss() {
  const std::size_t context = options_.model.context;
  std::vector<std::uint8_t> inputs(context), targets(context);
  double loss = 0;
  for (std::size_t i = 0; i < kHeldOutSequences; ++i) {
    text_.held_out_sequence(i, kHeldOutSequences, inputs.data(), targets.data());
    loss += cross_entropy(kBytes, targets, 0.0F, model_.forward(parameters_, 1, inputs).data());
  }
  return loss / static_cast<double>(kHeldOutSequences * context);
}

std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : std::as_bytes(values)) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace gyre::train
