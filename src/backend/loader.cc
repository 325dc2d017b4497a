#include "backend/loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "backend/host_backend.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"

namespace gyre {
namespace {

constexpr std::array<const char*, 4> kKindNames = {"auto", "host", "cuda", "hip"};

// The folder that this library was loaded from, with a slash; plugins are installed beside it.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&host_backend), &info) == 0 || !info.dli_fname) {
    return "";
  }
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Whether a device's kernels can be run: every entry after ipc_close.
bool has_kernels(const gyreBackend& table) {
  return table.device_current && table.device_identity && table.peer_access && table.pointer_info &&
         table.memory_alloc_async && table.memory_free_async && table.host_register &&
         table.host_unregister && table.event_create_untimed && table.stream_capture &&
         table.stream_identity && table.load_kernels && table.resident_blocks && table.launch;
}

// Whether every entry is there; the host's table ends with ipc_close.
bool is_complete(const gyreBackend& table) {
  return (table.kind == gyreDeviceHost || has_kernels(table)) && table.name && table.last_error &&
         table.device_count && table.device_info && table.device_select &&
         table.device_synchronize && table.memory_alloc && table.memory_free && table.host_alloc &&
         table.host_free && table.copy && table.copy_async && table.fill_async &&
         table.stream_create && table.stream_destroy && table.stream_synchronize &&
         table.stream_query && table.stream_wait_event && table.event_create &&
         table.event_destroy && table.event_record && table.event_synchronize &&
         table.event_query && table.event_elapsed_ms && table.ipc_export && table.ipc_import &&
         table.ipc_close;
}

Result<const gyreBackend*> check_table(const gyreBackend* table, const std::string& path,
                                       gyreDeviceKind kind) {
  if (table == nullptr || table->version != GYRE_BACKEND_VERSION ||
      table->size < sizeof(gyreBackend)) {
    return Error{Status::invalid_usage,
                 fmt::format("{} does not provide back-end version {}: build the plugin and "
                             "libgyre.so from the same sources",
                             path, GYRE_BACKEND_VERSION)};
  }
  if (table->kind != kind || !is_complete(*table)) {
    return Error{Status::invalid_usage,
                 fmt::format("{} is not a complete back-end for {}", path, name_of(kind))};
  }
  return table;
}

Result<void> check_device(const gyreBackend& table) {
  int count = 0;
  if (const gyreResult result = table.device_count(&count); result != gyreSuccess) {
    return Error{Status::system,
                 fmt::format("no {} device answers: {}", table.name, table.last_error())};
  }
  if (count < 1) return Error{Status::system, fmt::format("no {} device answers", table.name)};
  return {};
}

Result<const gyreBackend*> open_plugin(gyreDeviceKind kind) {
  const std::string file = fmt::format("libgyre_{}.so", name_of(kind));
  const std::string beside = own_folder() + file;
  // One that is there and cannot be loaded is the one that was meant, and its error says why.
  const bool there = ::access(beside.c_str(), F_OK) == 0;
  return load_plugin(there ? beside : file, kind);
}

Result<const gyreBackend*> find_plugin(gyreDeviceKind kind) {
  GYRE_TRY_ASSIGN(const gyreBackend* const table, open_plugin(kind));
  GYRE_TRY(check_device(*table));
  return table;
}

// Whether the machine has a driver for such devices: without, a plugin would be loaded, and with it
// the vendor's runtime, some MiB in every process, only to say so.
bool has_driver(gyreDeviceKind kind) {
  static const bool cuda = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  static const bool hip = ::access("/dev/kfd", F_OK) == 0;
  return kind == gyreDeviceCuda ? cuda : hip;
}

}  // namespace

const char* name_of(gyreDeviceKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kKindNames.size() ? kKindNames[index] : "unknown";
}

Result<gyreDeviceKind> parse_device_kind(std::string_view text) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (text == kKindNames[i]) return static_cast<gyreDeviceKind>(i);
  }
  return Error{Status::invalid_argument,
               fmt::format("device kind \"{}\" is none of auto, host, cuda, hip", text)};
}

Result<const gyreBackend*> load_plugin(const std::string& path, gyreDeviceKind kind) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    const bool there = path.find('/') != std::string::npos && ::access(path.c_str(), F_OK) == 0;
    return Error{Status::system, fmt::format("the {} back-end {}: {}", name_of(kind),
                                             there ? "cannot be loaded" : "is not installed",
                                             why != nullptr ? why : path)};
  }
  void* symbol = ::dlsym(library, GYRE_BACKEND_SYMBOL);
  if (symbol == nullptr) {
    return Error{Status::invalid_usage,
                 fmt::format("{} does not export {}", path, GYRE_BACKEND_SYMBOL)};
  }
  const auto get_table = reinterpret_cast<gyreBackendTable_t>(symbol);
  return check_table(get_table(GYRE_BACKEND_VERSION), path, kind);
}

Result<const gyreBackend*> find_backend(gyreDeviceKind kind) {
  switch (kind) {
    case gyreDeviceHost:
      return host_backend();
    case gyreDeviceCuda:
    case gyreDeviceHip:
      return find_plugin(kind);
    case gyreDeviceAuto:
      break;
  }
  if (kind != gyreDeviceAuto) {
    return Error{Status::invalid_argument,
                 fmt::format("device kind {} does not exist", static_cast<int>(kind))};
  }
  for (const gyreDeviceKind candidate : {gyreDeviceCuda, gyreDeviceHip}) {
    if (!has_driver(candidate)) continue;
    auto table = open_plugin(candidate);
    if (table && check_device(**table)) return table;
    // A program that has such devices would hand their memory to ranks on the host.
    if (!table) {
      log_warn(
          "there is a driver for {}, but ranks run on the host: {}; GYRE_DEVICE={} makes that "
          "an error, GYRE_DEVICE=host says that it is meant",
          name_of(candidate), table.error().text, name_of(candidate));
    }
  }
  return host_backend();
}

Result<const gyreBackend*> wanted_backend() {
  // Asked for once: a driver that is not there takes a while to say so.
  static const Result<const gyreBackend*> wanted = []() -> Result<const gyreBackend*> {
    const Result<Settings>& all = settings();
    if (!all) return all.error();
    GYRE_TRY_ASSIGN(const gyreDeviceKind kind, parse_device_kind(all->device));
    return find_backend(kind);
  }();
  return wanted;
}

}  // namespace gyre
