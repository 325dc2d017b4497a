// A name of memory is the process, its memory file's number there, and the place in it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "backend/last_error.hpp"
#include "tests/emulated/end.hpp"
#include "tests/emulated/entries.hpp"
#include "tests/emulated/memory.hpp"

namespace gyre::emulated {
namespace {

struct Name {
  std::uint64_t token = 0;
  std::int64_t process = 0;
  std::int64_t file = 0;
  std::uint64_t base = 0;    // in the exporting process
  std::uint64_t offset = 0;  // of the base, in the file
  std::uint64_t bytes = 0;
  std::uint64_t inside = 0;  // of the exported pointer
  std::uint64_t number = 0;  // of the allocation
};
static_assert(sizeof(Name) <= sizeof(gyreIpcHandle));

// What is mapped, by the pointer that was given for it.
struct Imports {
  struct Mapping {
    void* begin = nullptr;  // null: this process's own memory
    std::size_t bytes = 0;
    std::byte* base = nullptr;
    Name name;
  };
  std::mutex mutex;
  std::multimap<void*, Mapping> by_pointer;

  // As CUDA has it: memory is mapped once, so what an older mapping still holds cannot be.
  bool is_taken(const Name& name) {
    const std::lock_guard lock(mutex);
    return std::any_of(by_pointer.begin(), by_pointer.end(), [&](const auto& one) {
      const Name& other = one.second.name;
      return other.process == name.process && other.number != name.number &&
             other.offset < name.offset + name.bytes && name.offset < other.offset + other.bytes;
    });
  }
};
Imports& imports() {
  static auto& all = *new Imports;
  return all;
}

gyreResult failed(const Name& name, const char* what) {
  return device_failure(gyreErrorSystem, fmt::format("{}: memory of process {}: {}", what,
                                                     name.process, std::strerror(errno)));
}

gyreResult map(const Name& name, int ordinal, Imports::Mapping& mapping) {
  const auto path = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return failed(name, "open");
  std::uint64_t token = 0;
  const bool same = ::pread(file, &token, sizeof token, 0) == sizeof token && token == name.token;
  if (!same) {
    ::close(file);
    return device_failure(
        gyreErrorInvalidArgument,
        fmt::format("process {} is gone, and another has its number", name.process));
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = name.offset % page;
  mapping.bytes = before + name.bytes;
  void* const mapped = ::mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                              static_cast<off_t>(name.offset - before));
  ::close(file);
  if (mapped == MAP_FAILED) return failed(name, "mmap");
  mapping.begin = mapped;
  mapping.base = static_cast<std::byte*>(mapped) + before;
  Ranges::of_process().add({mapping.base, name.bytes, gyrePointerDevice, ordinal, 0});
  return gyreSuccess;
}

}  // namespace

gyreResult ipc_export(int, void* pointer, gyreIpcHandle* handle) noexcept {
  const auto range = Ranges::of_process().find(pointer);
  if (!range || range->kind != gyrePointerDevice) {
    return device_failure(gyreErrorUnsupported,
                          fmt::format("{} is not memory of an emulated device", pointer));
  }
  const Heap& heap = **Heap::of_process();
  Name name;
  name.token = heap.token();
  name.process = ::getpid();
  name.file = heap.file();
  name.base = reinterpret_cast<std::uint64_t>(range->base);
  name.offset = heap.offset_of(range->base);
  name.bytes = range->bytes;
  name.inside = reinterpret_cast<std::uint64_t>(pointer) - name.base;
  name.number = range->number;
  *handle = {};
  std::memcpy(handle->bytes, &name, sizeof name);
  return gyreSuccess;
}

gyreResult ipc_import(int ordinal, const gyreIpcHandle* handle, void** pointer) noexcept {
  *pointer = nullptr;
  Name name;
  std::memcpy(&name, handle->bytes, sizeof name);
  if (name.process <= 0 || name.inside >= name.bytes) {
    return device_failure(gyreErrorInvalidArgument, "the bytes are no handle of this device");
  }
  if (imports().is_taken(name)) {
    return device_failure(gyreErrorSystem, "the memory is mapped already, under an older name");
  }
  Imports::Mapping mapping;
  mapping.name = name;
  if (name.process == ::getpid()) {
    mapping.base = reinterpret_cast<std::byte*>(name.base);
  } else if (const auto result = map(name, ordinal, mapping); result != gyreSuccess) {
    return result;
  }
  *pointer = mapping.base + name.inside;
  const std::lock_guard lock(imports().mutex);
  imports().by_pointer.emplace(*pointer, mapping);
  return gyreSuccess;
}

gyreResult ipc_close(int, void* pointer) noexcept {
  expect_alive("ipc_close");
  Imports::Mapping mapping;
  {
    const std::lock_guard lock(imports().mutex);
    const auto found = imports().by_pointer.find(pointer);
    if (found == imports().by_pointer.end()) {
      return device_failure(gyreErrorInvalidArgument, fmt::format("{} was not imported", pointer));
    }
    mapping = found->second;
    imports().by_pointer.erase(found);
  }
  if (mapping.begin == nullptr) return gyreSuccess;
  Ranges::of_process().remove(mapping.base);
  ::munmap(mapping.begin, mapping.bytes);
  return gyreSuccess;
}

}  // namespace gyre::emulated
