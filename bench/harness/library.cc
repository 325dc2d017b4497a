#include "bench/harness/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <vector>

#include "bench/harness/failure.hpp"

namespace gyre::bench {
namespace {

constexpr const char* kSoname = "libnccl.so.2";

// Collects the names that are missing, so that one message lists them all.
class Binder {
 public:
  explicit Binder(void* handle) : handle_(handle) {}

  template <typename Function>
  void optional(Function& slot, const char* name) {
    slot = reinterpret_cast<Function>(dlsym(handle_, name));
  }
  template <typename Function>
  void required(Function& slot, const char* name) {
    optional(slot, name);
    if (slot == nullptr) missing_.emplace_back(name);
  }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* handle_;
  std::vector<std::string> missing_;
};

void bind_management(Binder& binder, Library& library) {
  binder.required(library.get_version, "ncclGetVersion");
  binder.required(library.get_unique_id, "ncclGetUniqueId");
  binder.required(library.error_string, "ncclGetErrorString");
  binder.optional(library.last_error, "ncclGetLastError");
  binder.required(library.init_rank_config, "ncclCommInitRankConfig");
  binder.required(library.destroy, "ncclCommDestroy");
  binder.required(library.abort, "ncclCommAbort");
  binder.required(library.async_error, "ncclCommGetAsyncError");
  binder.required(library.group_start, "ncclGroupStart");
  binder.required(library.group_end, "ncclGroupEnd");
  binder.required(library.mem_alloc, "ncclMemAlloc");
  binder.required(library.mem_free, "ncclMemFree");
  binder.optional(library.register_buffer, "ncclCommRegister");
  binder.optional(library.deregister_buffer, "ncclCommDeregister");
  binder.optional(library.window_register, "ncclCommWindowRegister");
  binder.optional(library.window_deregister, "ncclCommWindowDeregister");
  binder.optional(library.create_premulsum, "ncclRedOpCreatePreMulSum");
  binder.optional(library.destroy_op, "ncclRedOpDestroy");
}

void bind_operations(Binder& binder, Library& library) {
  binder.required(library.all_reduce, "ncclAllReduce");
  binder.required(library.all_gather, "ncclAllGather");
  binder.required(library.reduce_scatter, "ncclReduceScatter");
  binder.required(library.broadcast, "ncclBroadcast");
  binder.required(library.reduce, "ncclReduce");
  binder.required(library.send, "ncclSend");
  binder.required(library.recv, "ncclRecv");
  binder.optional(library.all_to_all, "ncclAlltoAll");
  binder.optional(library.gather, "ncclGather");
  binder.optional(library.scatter, "ncclScatter");
  binder.optional(library.all_to_all_v, "ncclAlltoAllv");
  if (library.all_to_all_v == nullptr) {
    binder.optional(library.all_to_all_v, "ncclAllToAllv");  // RCCL's older spelling
  }
}

std::vector<std::string> candidates(const std::string& path) {
  if (!path.empty()) return {path};
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> paths;
  if (!error) paths.push_back(program.parent_path().parent_path() / "lib" / kSoname);
  paths.emplace_back(kSoname);
  return paths;
}

}  // namespace

void Library::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess) return;
  const char* detail = last_error == nullptr ? nullptr : last_error(nullptr);
  const bool has_detail = detail != nullptr && detail[0] != '\0';
  throw Failure(ExitCode::library, fmt::format("{} failed: {}{}{}", call, error_string(result),
                                               has_detail ? ": " : "", has_detail ? detail : ""));
}

Library load_library(const std::string& path) {
  Library library;
  std::string reasons;
  for (const std::string& candidate : candidates(path)) {
    library.handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle != nullptr) {
      library.path = candidate;
      break;
    }
    reasons += fmt::format("\n  {}", dlerror());
  }
  if (library.handle == nullptr) {
    throw Failure(ExitCode::library,
                  "no collective library could be opened (--lib names one):" + reasons);
  }
  Binder binder(library.handle);
  bind_management(binder, library);
  bind_operations(binder, library);
  if (!binder.missing().empty()) {
    throw Failure(ExitCode::library,
                  fmt::format("{} lacks {}", library.path, fmt::join(binder.missing(), ", ")));
  }
  library.check(library.get_version(&library.version), "ncclGetVersion");
  return library;
}

GroupScope::GroupScope(const Library& library, bool wanted) : library_(library), open_(wanted) {
  if (open_) library_.check(library_.group_start(), "ncclGroupStart");
}

GroupScope::~GroupScope() {
  // Only reached with an open group when an exception passes: it says more than this result.
  if (open_) static_cast<void>(library_.group_end());
}

void GroupScope::end() {
  if (!open_) return;
  open_ = false;
  library_.check(library_.group_end(), "ncclGroupEnd");
}

}  // namespace gyre::bench
