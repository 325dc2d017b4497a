#include "bench/harness/options.hpp"

#include <fmt/format.h>
#include <getopt.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "bench/harness/failure.hpp"
#include "bench/harness/types.hpp"

namespace gyre::bench {
namespace {

struct Flag {
  int letter;  // >= 256: no short form
  const char* name;
  const char* argument;
  const char* help;
};

constexpr int kDeviceFlag = 256;
constexpr int kLibraryFlag = 257;
constexpr int kSecondsFlag = 258;
constexpr int kMemoryFlag = 259;

constexpr std::array kFlags{
    Flag{'t', "nthreads", "N", "threads per process"},
    Flag{'g', "ngpus", "N", "ranks (GPUs, or host ranks) per thread"},
    Flag{'b', "minbytes", "SIZE", "smallest size in bytes; K, M and G are powers of 1024"},
    Flag{'e', "maxbytes", "SIZE", "largest size"},
    Flag{'i', "stepbytes", "SIZE", "increment between sizes"},
    Flag{'f', "stepfactor", "N", "factor between sizes (instead of -i)"},
    Flag{'n', "iters", "N", "iterations that are timed"},
    Flag{'m', "agg_iters", "N", "operations of one iteration, issued as one group"},
    Flag{'w', "warmup_iters", "N", "iterations before timing starts"},
    Flag{'N', "run_cycles", "N", "passes over all sizes; 0 repeats for ever"},
    Flag{'p', "parallel_init", "0|1", "each thread creates its own communicators"},
    Flag{'c', "check", "N", "checked iterations; 0 checks nothing"},
    Flag{'o', "op", "OP", "sum, prod, max, min, avg, mulsum or all"},
    Flag{'d', "datatype", "TYPE",
         "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 or all"},
    Flag{'r', "root", "N", "root rank; all or -1 takes each in turn"},
    Flag{'z', "blocking", "0..3",
         "1: wait and barrier after each operation, 2: wait only, 3: wait and barrier after each "
         "iteration"},
    Flag{'y', "stream_null", "0|1", "use the null stream"},
    Flag{'T', "timeout", "SECONDS", "give up when an operation takes longer; 0 never"},
    Flag{'G', "cudagraph", "N", "graph launches: only 0 is provided"},
    Flag{'C', "report_cputime", "0|1", "report the time to issue instead of to complete"},
    Flag{'a', "average", "0..3", "time over ranks: 0 rank 0, 1 mean, 2 min, 3 max"},
    Flag{'R', "local_register", "0..2", "register buffers: 1 locally, 2 as symmetric windows"},
    Flag{'x', "cta_policy", "0..2", "CTA policy of the communicators"},
    Flag{'D', "device_implementation", "N", "device-side implementation: only 0 is provided"},
    Flag{'V', "device_cta_count", "N", "blocks of the device-side implementation: not provided"},
    Flag{'J', "output_file", "FILE", "also write results to FILE (a name that ends in .json)"},
    Flag{'S', "report_timestamps", "0|1", "add the time of day to each line"},
    Flag{'M', "memory", "0|1", "report memory use"},
    Flag{'u', "unalign", "N", "buffers start N elements off their alignment"},
    Flag{'I', "per_iter_timing", "0|1", "statistics over single iterations"},
    Flag{'K', "per_iter_skip", "N", "leading iterations that -I leaves out"},
    Flag{kDeviceFlag, "device", "KIND", "auto, host, cuda or hip (default: GYRE_DEVICE)"},
    Flag{kLibraryFlag, "lib", "PATH", "measure this libnccl.so.2 instead of Gyre's"},
    Flag{kSecondsFlag, "seconds", "S", "time as many iterations (-n at least) as fill S seconds"},
    Flag{kMemoryFlag, "memory_kind", "KIND", "buffers: library (ncclMemAlloc) or plain (malloc)"},
};

std::string flag_label(int letter) {
  for (const Flag& flag : kFlags) {
    if (flag.letter != letter) continue;
    if (letter < 256) return fmt::format("-{},--{}", static_cast<char>(letter), flag.name);
    return fmt::format("--{}", flag.name);
  }
  return "option";
}

[[noreturn]] void refuse(const std::string& text) { throw Failure(ExitCode::usage, text); }

int to_int(int letter, std::string_view text, int low, int high) {
  const std::string copy(text);
  errno = 0;
  char* end = nullptr;
  const long value = std::strtol(copy.c_str(), &end, 0);
  if (copy.empty() || *end != '\0' || errno != 0 || value < low || value > high) {
    refuse(high == std::numeric_limits<int>::max()
               ? fmt::format("{}: '{}' is not a number >= {}", flag_label(letter), text, low)
               : fmt::format("{}: '{}' is not a number from {} to {}", flag_label(letter), text,
                             low, high));
  }
  return static_cast<int>(value);
}

int to_int(int letter, std::string_view text, int low) {
  return to_int(letter, text, low, std::numeric_limits<int>::max());
}

bool to_bool(int letter, std::string_view text) { return to_int(letter, text, 0, 1) == 1; }

std::size_t to_size(int letter, std::string_view text) {
  const auto size = parse_size(text);
  if (!size) refuse(fmt::format("{}: '{}' is not a size", flag_label(letter), text));
  return *size;
}

int to_type(std::string_view text) {
  if (text == "all") return kAll;
  const auto type = find_type(text);
  if (!type) refuse(fmt::format("{}: there is no type '{}'", flag_label('d'), text));
  return *type;
}

int to_op(std::string_view text) {
  if (text == "all") return kAll;
  const auto op = find_op(text);
  if (!op) refuse(fmt::format("{}: there is no operation '{}'", flag_label('o'), text));
  return *op;
}

std::string to_device(std::string_view text) {
  for (const std::string_view kind : {"auto", "host", "cuda", "hip"}) {
    if (text == kind) return std::string(text);
  }
  refuse(fmt::format("--device: '{}' is not auto, host, cuda or hip", text));
}

double to_seconds(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  // Written so that NaN is refused.
  if (copy.empty() || *end != '\0' || !(value >= 0 && value <= 3600)) {
    refuse(fmt::format("--seconds: '{}' is not a number from 0 to 3600", text));
  }
  return value;
}

Memory to_memory(std::string_view text) {
  if (text == "library") return Memory::library;
  if (text == "plain") return Memory::plain;
  refuse(fmt::format("--memory_kind: '{}' is not library or plain", text));
}

// Ranks, sizes and iterations: what is measured.
bool set_measurement(Options& o, int letter, std::string_view text) {
  switch (letter) {
    case 't':
      o.threads = to_int(letter, text, 1, 4096);
      return true;
    case 'g':
      o.gpus = to_int(letter, text, 1, 4096);
      return true;
    case 'b':
      o.min_bytes = to_size(letter, text);
      return true;
    case 'e':
      o.max_bytes = to_size(letter, text);
      return true;
    case 'i':
      o.step_bytes = to_size(letter, text);
      return true;
    case 'f':
      o.step_factor = static_cast<std::size_t>(to_int(letter, text, 0));
      return true;
    case 'n':
      o.iters = to_int(letter, text, 1);
      return true;
    case 'm':
      o.agg_iters = to_int(letter, text, 1);
      return true;
    case 'w':
      o.warmup_iters = to_int(letter, text, 0);
      return true;
    case 'N':
      o.run_cycles = to_int(letter, text, 0);
      return true;
    case 'c':
      o.check = to_int(letter, text, 0);
      return true;
    case 'o':
      o.op = to_op(text);
      return true;
    case 'd':
      o.type = to_type(text);
      return true;
    case 'r':
      o.root = text == "all" ? kAll : to_int(letter, text, -1);
      return true;
    case 'u':
      o.unalign = static_cast<std::size_t>(to_int(letter, text, 0, 1 << 20));
      return true;
    default:
      return false;
  }
}

// How it is run and reported.
bool set_manner(Options& o, int letter, std::string_view text) {
  switch (letter) {
    case 'p':
      o.parallel_init = to_bool(letter, text);
      return true;
    case 'z':
      o.blocking = static_cast<Blocking>(to_int(letter, text, 0, 3));
      return true;
    case 'y':
      o.null_stream = to_bool(letter, text);
      return true;
    case 'T':
      o.timeout_s = to_int(letter, text, 0);
      return true;
    case 'C':
      o.report_cputime = to_bool(letter, text);
      return true;
    case 'S':
      o.report_timestamps = to_bool(letter, text);
      return true;
    case 'a':
      o.average = static_cast<Average>(to_int(letter, text, 0, 3));
      return true;
    case 'R':
      o.registration = static_cast<Registration>(to_int(letter, text, 0, 2));
      return true;
    case 'x':
      o.cta_policy = to_int(letter, text, 0, 2);
      return true;
    case 'J':
      o.output_file = text;
      return true;
    case 'M':
      o.memory_report = to_bool(letter, text);
      return true;
    case 'I':
      o.per_iter_timing = to_bool(letter, text);
      return true;
    case 'K':
      o.per_iter_skip = to_int(letter, text, 0);
      return true;
    case kDeviceFlag:
      o.device = to_device(text);
      return true;
    case kLibraryFlag:
      o.nccl = text;
      return true;
    case kSecondsFlag:
      o.seconds = to_seconds(text);
      return true;
    case kMemoryFlag:
      o.memory = to_memory(text);
      return true;
    default:
      return false;
  }
}

void refuse_unprovided(int letter, std::string_view text) {
  if (letter == 'G' && to_int(letter, text, 0) > 0) {
    refuse(
        "-G,--cudagraph: host ranks have no graphs to capture into, and gyre/device.h offers "
        "none for GPUs; leave it out (-m groups operations)");
  }
  if (letter == 'D' && to_int(letter, text, 0) > 0) {
    refuse("-D,--device_implementation: Gyre has no device-side interface of NCCL; leave it out");
  }
  if (letter == 'V') {
    refuse("-V,--device_cta_count: it belongs to -D, which Gyre does not provide; leave it out");
  }
}

void check_together(ParsedOptions& parsed) {
  Options& o = parsed.options;
  if (o.min_bytes > o.max_bytes) {
    refuse(fmt::format("-b {} is larger than -e {}", o.min_bytes, o.max_bytes));
  }
  if (o.min_bytes < o.max_bytes && o.step_factor < 2 && o.step_bytes == 0) {
    refuse("-i 0 never gets from -b to -e; give -i or -f");
  }
  if (o.min_bytes == 0 && o.max_bytes > 0 && o.step_factor >= 2) {
    refuse("-f multiplies, so -b must be larger than 0");
  }
  if (o.seconds > 0 && o.per_iter_timing) {
    refuse("--seconds chooses the number of iterations, and -I keeps one time of each: give -n");
  }
  if (o.memory == Memory::plain && o.registration == Registration::window) {
    refuse("-R 2 needs the memory of ncclMemAlloc: leave out --memory_kind");
  }
  if (o.per_iter_skip >= o.iters) {
    parsed.notes.push_back(
        fmt::format("-K must be between 0 and {}; nothing is left out", o.iters - 1));
    o.per_iter_skip = 0;
  }
  if (o.per_iter_skip > 0 && !o.per_iter_timing) {
    parsed.notes.push_back("-K needs -I 1; nothing is left out");
    o.per_iter_skip = 0;
  }
}

struct GetoptTables {
  std::string shorts = ":h";
  std::array<option, kFlags.size() + 2> longs{};
  GetoptTables() {
    std::size_t i = 0;
    for (const Flag& flag : kFlags) {
      longs.at(i++) = {flag.name, required_argument, nullptr, flag.letter};
      if (flag.letter < 256) {
        shorts += static_cast<char>(flag.letter);
        shorts += ':';
      }
    }
    longs.at(i) = {"help", no_argument, nullptr, 'h'};
  }
};

void parse_into(ParsedOptions& parsed, int argc, char* const argv[]) {
  const GetoptTables tables;
  opterr = 0;
  optind = 0;  // glibc: start afresh, so that parsing can be repeated
  for (;;) {
    const int at = optind > 0 ? optind : 1;
    const int letter = getopt_long(argc, argv, tables.shorts.c_str(), tables.longs.data(), nullptr);
    if (letter == -1) break;
    if (letter == 'h') {
      parsed.action = ParsedOptions::Action::help;
      return;
    }
    if (letter == ':') refuse(fmt::format("'{}' needs a value", argv[at]));
    if (letter == '?') refuse(fmt::format("there is no option '{}'", argv[at]));
    const std::string_view text = optarg == nullptr ? "" : optarg;
    refuse_unprovided(letter, text);
    if (!set_measurement(parsed.options, letter, text)) set_manner(parsed.options, letter, text);
  }
  if (optind < argc) refuse(fmt::format("unexpected argument '{}'", argv[optind]));
  check_together(parsed);
}

}  // namespace

ParsedOptions parse_options(int argc, char* const argv[]) {
  ParsedOptions parsed;
  try {
    parse_into(parsed, argc, argv);
  } catch (const Failure& failure) {
    parsed.action = ParsedOptions::Action::refuse;
    parsed.error = failure.what();
  }
  return parsed;
}

std::string usage_text(const std::string& program) {
  std::string text = fmt::format("USAGE: {} [options]\n", program);
  for (const Flag& flag : kFlags) {
    text += fmt::format("  {:<34} {}\n",
                        fmt::format("{} <{}>", flag_label(flag.letter), flag.argument), flag.help);
  }
  text += fmt::format("  {:<34} {}\n", "-h,--help", "this text");
  return text;
}

}  // namespace gyre::bench
