#include "trainer/progress.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace gyre::train {

Progress::Progress(bool quiet, std::size_t steps, std::size_t every, const std::string& json_path)
    : quiet_(quiet), steps_(steps), every_(every), last_line_(std::chrono::steady_clock::now()) {
  if (quiet || json_path.empty()) return;
  json_.open(json_path);
  if (!json_) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", json_path, std::strerror(errno)));
  }
}

void Progress::report(const StepReport& step, bool last) {
  if (quiet_) return;
  if (json_.is_open()) write_json(step);
  seen_ += 1;
  tokens_ += step.tokens;
  ms_ += step.step_ms;
  busy_ms_ += step.busy_ms;
  waited_ms_ += step.waited_ms;
  const auto now = std::chrono::steady_clock::now();
  const bool due = every_ > 0 ? step.step % every_ == 0
                              : step.step == 1 || now - last_line_ >= std::chrono::seconds(1);
  if (!due && !last) return;
  print_line(step);
  last_line_ = now;
  seen_ = tokens_ = 0;
  ms_ = busy_ms_ = waited_ms_ = 0;
}

void Progress::print_line(const StepReport& step) {
  const auto seen = static_cast<double>(seen_);
  fmt::print(
      "step {:5}/{}  loss {:.4f}  lr {:.2e}  {:7.0f} tokens/s  communication {:.1f} ms/step "
      "({:.0f}%), waited for {:.1f} ms ({:.0f}%)\n",
      step.step, steps_, step.loss, step.learning_rate, static_cast<double>(tokens_) / ms_ * 1e3,
      busy_ms_ / seen, 100.0 * busy_ms_ / ms_, waited_ms_ / seen, 100.0 * waited_ms_ / ms_);
  std::fflush(stdout);
}

void Progress::write_json(const StepReport& step) {
  // Nine digits name a float, seventeen a double, without doubt: two runs can be compared by text.
  json_ << fmt::format(
      "{{\"step\":{},\"loss\":{:.17g},\"norm\":{:.17g},\"lr\":{:.9g},\"tokens\":{},"
      "\"step_ms\":{:.4f},\"comm_ms\":{:.4f},\"wait_ms\":{:.4f}}}\n",
      step.step, step.loss, step.norm, step.learning_rate, step.tokens, step.step_ms, step.busy_ms,
      step.waited_ms);
}

void Progress::finish(double held_out_loss, std::uint64_t parameter_hash, double seconds) {
  if (quiet_) return;
  if (json_.is_open()) {
    json_ << fmt::format(
        "{{\"held_out_loss\":{:.17g},\"parameters\":\"{:016x}\",\"seconds\":{:.3f}}}\n",
        held_out_loss, parameter_hash, seconds);
  }
  fmt::print("held-out loss {:.4f}, {:.1f} s, parameters {:016x}\n", held_out_loss, seconds,
             parameter_hash);
}

}  // namespace gyre::train
