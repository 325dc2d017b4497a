#include "tests/device/helper.hpp"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "backend/loader.hpp"
#include "tests/device/device.hpp"

namespace gyre::test {
namespace {

// A helper has no test to fail: it says what went wrong and ends.
void require(bool good, const char* what, const gyreBackend& table) {
  if (good) return;
  std::fprintf(stderr, "helper: %s: %s\n", what, table.last_error());
  std::_Exit(1);
}

gyreIpcHandle handle_of(const std::string& hex) {
  gyreIpcHandle handle{};
  for (std::size_t i = 0; i < sizeof handle.bytes && 2 * i + 1 < hex.size(); ++i) {
    handle.bytes[i] = static_cast<unsigned char>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

int import_memory(const gyreBackend& table, const gyreIpcHandle& inner, const gyreIpcHandle& outer,
                  std::size_t offset, std::size_t bytes) {
  void *first = nullptr, *again = nullptr, *base = nullptr;
  require(table.ipc_import(0, &inner, &first) == gyreSuccess, "import", table);
  require(table.ipc_import(0, &inner, &again) == gyreSuccess, "import again", table);
  require(table.ipc_import(0, &outer, &base) == gyreSuccess, "import the whole", table);
  require(first == again, "two imports are at one address", table);
  require(static_cast<std::byte*>(base) + offset == first, "the offset is kept", table);

  std::vector<std::uint8_t> seen(bytes);
  require(table.copy(0, seen.data(), first, bytes) == gyreSuccess, "read", table);
  require(seen == pattern(bytes, 1), "the exporter's bytes are there", table);
  const auto answer = pattern(bytes, 2);
  require(table.ipc_close(0, again) == gyreSuccess, "close one of three", table);
  require(table.ipc_close(0, base) == gyreSuccess, "close two of three", table);
  require(table.copy(0, first, answer.data(), bytes) == gyreSuccess, "write", table);
  require(table.ipc_close(0, first) == gyreSuccess, "close", table);
  require(table.ipc_close(0, first) == gyreErrorInvalidArgument, "close once too often", table);
  return 0;
}

int import_two(const gyreBackend& table, const gyreIpcHandle& one, const gyreIpcHandle& two,
               std::size_t bytes) {
  void *first = nullptr, *second = nullptr;
  require(table.ipc_import(0, &one, &first) == gyreSuccess, "import one", table);
  require(table.ipc_import(0, &two, &second) == gyreSuccess, "import the other", table);
  std::vector<std::uint8_t> seen(bytes);
  require(table.copy(0, seen.data(), first, bytes) == gyreSuccess, "read one", table);
  require(seen == pattern(bytes, 1), "the one's bytes are there", table);
  require(table.ipc_close(0, first) == gyreSuccess, "close one", table);
  require(table.copy(0, seen.data(), second, bytes) == gyreSuccess, "read the other", table);
  require(seen == pattern(bytes, 2), "the other's bytes are there", table);
  require(table.ipc_close(0, second) == gyreSuccess, "close the other", table);
  return 0;
}

// The driver says whether a device has a context of this process.
bool is_in_use(int ordinal, const gyreBackend& table) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  require(driver != nullptr, "libcuda.so.1", table);
  const auto get_state = reinterpret_cast<int (*)(int, unsigned*, int*)>(
      ::dlsym(driver, "cuDevicePrimaryCtxGetState"));
  require(get_state != nullptr, "cuDevicePrimaryCtxGetState", table);
  unsigned flags = 0;
  int active = 0;
  require(get_state(ordinal, &flags, &active) == 0, "the state of a context", table);
  return active != 0;
}

int stay_off(const gyreBackend& table) {
  void* pointer = nullptr;
  gyreStream_t stream = nullptr;
  require(table.memory_alloc(1, 1 << 20, &pointer) == gyreSuccess, "allocate", table);
  require(table.stream_create(1, &stream) == gyreSuccess, "a stream", table);
  require(table.fill_async(1, pointer, 7, 1 << 20, stream) == gyreSuccess, "fill", table);
  require(table.stream_synchronize(1, stream) == gyreSuccess, "wait", table);
  std::uint8_t byte = 0;
  require(table.copy(1, &byte, pointer, 1) == gyreSuccess && byte == 7, "read", table);
  require(table.memory_free(1, pointer) == gyreSuccess, "free", table);
  require(is_in_use(1, table), "device 1 is in use", table);
  require(!is_in_use(0, table), "device 0 is left alone", table);
  return 0;
}

}  // namespace

int run_helper(const std::vector<std::string>& arguments) {
  std::string self = "/proc/self/exe";
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), self);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  if (::posix_spawn(&child, self.c_str(), nullptr, nullptr, argv.data(), ::environ) != 0) return -1;
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string hex_of(const gyreIpcHandle& handle) {
  std::string hex;
  for (const unsigned char byte : handle.bytes) {
    char digits[3] = {};
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

int helper_main(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return -1;
  const std::string& what = arguments[0];
  if (what != kImport && what != kImportTwo && what != kStayOff) return -1;
  const auto table = find_backend(gyreDeviceCuda);
  if (!table) {
    std::fprintf(stderr, "helper: %s\n", table.error().text.c_str());
    return 1;
  }
  if (what == kStayOff) return stay_off(**table);
  if (arguments.size() != 5) return 2;
  const gyreIpcHandle one = handle_of(arguments[1]), two = handle_of(arguments[2]);
  const std::size_t offset = std::stoul(arguments[3]), bytes = std::stoul(arguments[4]);
  if (what == kImportTwo) return import_two(**table, one, two, bytes);
  return import_memory(**table, one, two, offset, bytes);
}

}  // namespace gyre::test
