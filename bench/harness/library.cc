#include "bench/harness/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "bench/harness/failure.hpp"
#include "gyre/device.h"

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
  // RCCL's two spellings; the last is where Gyre's libnccl.so.2 finds it, which must not export it.
  for (const char* name : {"ncclAlltoAllv", "ncclAllToAllv", "gyre_ncclAlltoAllv"}) {
    if (library.all_to_all_v == nullptr) binder.optional(library.all_to_all_v, name);
  }
}

// Gyre's libnccl.so.2 lies beside libgyre.so, which this program is linked with.
std::string beside_libgyre() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&gyreDeviceOpen), &info) == 0) return kSoname;
  return std::filesystem::path(info.dli_fname).parent_path() / kSoname;
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
  library.path = path.empty() ? beside_libgyre() : path;
  library.handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    throw Failure(ExitCode::library, fmt::format("cannot open the library under test: {} (--lib "
                                                 "names one)",
                                                 dlerror()));
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
