#include "bench/harness/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "bench/harness/failure.hpp"
#include "bench/harness/group.hpp"
#include "bench/harness/memory.hpp"
#include "bench/harness/output.hpp"
#include "bench/harness/ranks.hpp"
#include "bench/harness/runner.hpp"

namespace gyre::bench {
namespace {

class Program {
 public:
  Program(int argc, char* argv[], Options options, const Collective& collective)
      : argc_(argc),
        argv_(argv),
        name_(std::filesystem::path(argv[0]).filename()),
        options_(std::move(options)),
        collective_(collective) {}

  int run();

 private:
  // Runs `work`; an exception ends the process.
  template <typename Work>
  auto guard(Work&& work);
  // Runs `work(thread)` on as many threads as measure, the first on this one.
  template <typename Work>
  void on_threads(Work&& work);
  void start();
  void announce();
  void limit_sizes();
  void check_choice() const;
  void connect();
  void measure();
  Totals measure_thread(int thread, std::int64_t before);
  int conclude();
  void tear_down();

  std::span<Rank> ranks_of(int thread);
  void print(const std::string& text) const {
    if (output_) output_->print(text);
  }
  // Says what happened and ends the process at once: other threads may be inside the library,
  // waiting for a rank that will not come. Any thread.
  [[noreturn]] void die(ExitCode code, const std::string& text);

  const int argc_;
  char** const argv_;
  const std::string name_;
  Options options_;
  const Collective& collective_;
  Library library_;
  std::unique_ptr<ProcessGroup> group_;
  Layout layout_;
  std::unique_ptr<Output> output_;
  std::vector<Rank> ranks_;
  ncclUniqueId id_{};
  std::unique_ptr<Team> team_;
  std::vector<Totals> totals_;
  MemoryUse memory_;
  std::mutex dying_;
  const std::thread::id main_thread_ = std::this_thread::get_id();
};

std::string ranks_text(const Layout& layout) {
  const int first = layout.rank(0, 0);
  if (layout.ranks_here() == 1) return fmt::format("rank {}", first);
  return fmt::format("ranks {} to {}", first, first + layout.ranks_here() - 1);
}

// What this process has taken since own_bytes() was `before`.
std::int64_t grown_since(std::int64_t before) {
  return std::max<std::int64_t>(0, own_bytes() - before);
}

std::optional<double> min_bandwidth() {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  if (text == nullptr) return std::nullopt;
  return std::atof(text);
}

template <typename Work>
auto Program::guard(Work&& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    die(failure.code(), failure.what());
  } catch (const std::exception& error) {
    die(ExitCode::internal, error.what());
  }
}

template <typename Work>
void Program::on_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (int thread = 1; thread < options_.threads; ++thread) {
    threads.emplace_back([this, &work, thread] { guard([&] { work(thread); }); });
  }
  guard([&] { work(0); });
  for (std::thread& thread : threads) thread.join();
}

int Program::run() {
  return guard([this] {
    start();
    announce();
    limit_sizes();
    check_choice();
    const auto obstacle =
        collective_.obstacle(options_.min_bytes, options_.max_bytes, layout_.ranks());
    if (obstacle.fatal) throw Failure(ExitCode::internal, obstacle.text);
    if (obstacle.text.empty()) {
      connect();
      measure();
    } else {
      print(obstacle.text + "\n");
    }
    return conclude();
  });
}

void Program::check_choice() const {
  if (!collective_.rooted() || options_.root < layout_.ranks()) return;
  throw Failure(ExitCode::usage,
                fmt::format("-r {}: there are only {} ranks", options_.root, layout_.ranks()));
}

void Program::start() {
  // Before the library reads it, so that its ranks and our buffers are of one kind.
  if (!options_.device.empty()) setenv("GYRE_DEVICE", options_.device.c_str(), 1);
  library_ = load_library(options_.nccl);
  group_ = join_processes();
  layout_ = make_layout(*group_, options_);
  if (!layout_.is_main()) return;
  std::unique_ptr<JsonReport> json;
  std::string note;
  if (!options_.output_file.empty()) json = JsonReport::open(options_.output_file, note);
  if (json) json->begin(argc_, argv_, environ, library_.version);
  output_ = std::make_unique<Output>(options_, std::move(json));
  print(note);
}

void Program::announce() {
  print(opening_text(name_, library_.version, options_));
  // Another vendor's library has no room for two ranks on one GPU; ours has.
  ranks_ = open_ranks(layout_, options_, options_.nccl.empty());
  const auto lines = gather_device_lines(*group_, layout_, infos_of(ranks_));
  print(device_text(lines));
  if (output_ && output_->json() != nullptr) output_->json()->config(options_, lines);
}

void Program::limit_sizes() {
  const std::size_t limit = buffer_limit(*group_, layout_, infos_of(ranks_), options_.check > 0);
  if (options_.max_bytes <= limit) return;
  options_.max_bytes = limit;
  options_.min_bytes = std::min(options_.min_bytes, limit);
  print(fmt::format("#\n# Reducing maxBytes to {} due to memory limitation\n", limit));
}

std::span<Rank> Program::ranks_of(int thread) {
  const auto gpus = static_cast<std::size_t>(options_.gpus);
  return std::span(ranks_).subspan(static_cast<std::size_t>(thread) * gpus, gpus);
}

void Program::connect() {
  id_ = share_unique_id(*group_, layout_, library_);
  team_ = std::make_unique<Team>(*group_, options_.threads);
  totals_.resize(static_cast<std::size_t>(options_.threads));
  const std::int64_t before = own_bytes();
  const auto create = [this](std::span<Rank> ranks) {
    create_communicators(library_, ranks, id_, layout_, options_, collective_);
  };
  if (options_.parallel_init) {
    on_threads([&](int thread) { create(ranks_of(thread)); });
  } else {
    create(ranks_);
  }
  memory_.initialization = grown_since(before);
  print(header_text(options_));
}

// `before`: what the process took before it had buffers.
Totals Program::measure_thread(int thread, std::int64_t before) {
  const auto ranks = ranks_of(thread);
  Watchdog watchdog(std::chrono::seconds(options_.timeout_s), [this] {
    die(ExitCode::timeout, fmt::format("Test timeout ({}s)", options_.timeout_s));
  });
  const RunContext context{options_, layout_, library_, collective_, *team_};
  for (Rank& rank : ranks) touch_buffers(rank);
  team_->barrier();
  if (thread == 0) memory_.buffers = grown_since(before);
  Runner runner(context, thread, ranks, watchdog, thread == 0 ? output_.get() : nullptr);
  return runner.run();
}

void Program::measure() {
  const std::int64_t before = own_bytes();
  create_buffers(library_, ranks_, options_);
  on_threads([&](int thread) {
    totals_[static_cast<std::size_t>(thread)] = measure_thread(thread, before);
  });
  memory_.collective = grown_since(before + memory_.buffers);
  group_->barrier();
  tear_down();
}

void Program::tear_down() {
  deregister_buffers(library_, ranks_);
  destroy_communicators(library_, ranks_);
  free_buffers(library_, ranks_);
}

int Program::conclude() {
  Totals all;
  for (const Totals& totals : totals_) {
    all.bus_gbps += totals.bus_gbps;
    all.measurements += totals.measurements;
    all.wrong_runs += totals.wrong_runs;
  }
  Footer footer;
  const auto wrong = all_gather_values(*group_, all.wrong_runs);
  for (const std::int64_t runs : wrong) footer.wrong_runs += runs;
  if (all.measurements > 0) footer.bus_gbps = all.bus_gbps / static_cast<double>(all.measurements);
  footer.min_bus_gbps = min_bandwidth();
  print(footer_text(footer, name_));
  if (options_.memory_report) {
    print(memory_text(memory_, ranks_.front().device->is_host()));
  }
  const std::string error = library_.last_error == nullptr ? "" : library_.last_error(nullptr);
  print(error.empty() ? "#\n\n" : "#\n# error: " + error + "\n");
  if (output_ && output_->json() != nullptr) {
    output_->json()->footer(footer);
    output_->json()->errors(error);
    output_->json()->finish();
  }
  const bool good = footer.wrong_runs == 0 && footer.fast_enough();
  return static_cast<int>(good ? ExitCode::success : ExitCode::wrong_result);
}

void Program::die(ExitCode code, const std::string& text) {
  const std::scoped_lock lock(dying_);  // never released: the first one speaks
  std::string who = fmt::format("pid {}", getpid());
  if (group_) who = ranks_text(layout_) + ", " + who;
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s (%s): %s\n", short_hostname().c_str(), name_.c_str(), who.c_str(),
               text.c_str());
  std::fflush(stderr);
  // Only this thread touches the output, so that its rows are whole now.
  if (std::this_thread::get_id() == main_thread_ && output_ && output_->json() != nullptr) {
    output_->json()->errors(text);
    output_->json()->finish();
  }
  std::_Exit(static_cast<int>(code));
}

}  // namespace

int run_program(int argc, char* argv[], const Collective& collective) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.action == ParsedOptions::Action::help) {
    std::fputs(usage_text(argv[0]).c_str(), stdout);
    return static_cast<int>(ExitCode::success);
  }
  if (parsed.action == ParsedOptions::Action::refuse) {
    std::fprintf(stderr, "%s: %s\n%s", argv[0], parsed.error.c_str(), usage_text(argv[0]).c_str());
    return static_cast<int>(ExitCode::usage);
  }
  for (const std::string& note : parsed.notes) std::fprintf(stderr, "%s\n", note.c_str());
  Program program(argc, argv, parsed.options, collective);
  return program.run();
}

}  // namespace gyre::bench
