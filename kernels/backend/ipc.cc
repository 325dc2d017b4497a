// Memory of one process in another, by the vendor's names for whole allocations.
//
// An allocation is opened once in a process, however often it is imported: some runtimes refuse to
// open it twice, others count by themselves.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <random>

#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"

namespace gyre::gpu {
namespace {

constexpr std::array<char, 8> kMark = {'G', 'Y', 'R', 'E', 'I', 'P', 'C', '1'};

// What travels as the bytes of a gyreIpcHandle.
struct Name {
  std::array<char, 8> mark = kMark;
  std::uint32_t kind = kKind;
  std::uint32_t reserved = 0;
  std::uint64_t process = 0;  // a random number of the exporting process
  std::uint64_t base = 0;     // its address of the allocation
  std::uint64_t bytes = 0;    // of the allocation
  std::uint64_t offset = 0;
  IpcName vendor{};
};
static_assert(sizeof(Name) <= sizeof(gyreIpcHandle));

std::uint64_t own_process() {
  static const std::uint64_t number = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32) | random();
  }();
  return number;
}

struct Import {
  int ordinal = 0;
  Name name;
  std::byte* base = nullptr;
  int users = 0;

  bool is_of(int device, const Name& other) const {
    return ordinal == device && name.process == other.process && name.base == other.base &&
           std::memcmp(&name.vendor, &other.vendor, sizeof name.vendor) == 0;
  }
  bool holds(int device, const std::byte* pointer) const {
    return ordinal == device && pointer >= base && pointer < base + name.bytes;
  }
};

struct Imports {
  std::mutex mutex;
  std::list<Import> list;
};

// Never destroyed: threads may still be at work when the process ends.
Imports& imports() {
  static auto& all = *new Imports;
  return all;
}

// Called with the lock held; the new import comes first in the list.
gyreResult open(int ordinal, const Name& name) {
  auto& list = imports().list;
  list.push_front({ordinal, name, nullptr, 0});
  if (name.process == own_process()) {
    // A process cannot open its own memory, and has it already.
    list.front().base = reinterpret_cast<std::byte*>(name.base);
    return gyreSuccess;
  }
  void* base = nullptr;
  const Code code = ipc_open(&base, name.vendor, kIpcOpen);
  list.front().base = static_cast<std::byte*>(base);
  if (code == kOk) return gyreSuccess;
  list.pop_front();
  return failure(code, "IpcOpenMemHandle", ordinal, fmt::format(" of {} bytes", name.bytes));
}

}  // namespace

gyreResult ipc_export(int ordinal, void* pointer, gyreIpcHandle* handle) noexcept {
  return beside_captures(ordinal, [&] {
    const Allocation allocation = allocation_of(pointer);
    Name name;
    // Of the whole: what a name of an inner address would open is not said anywhere.
    const Code code =
        allocation.base == nullptr ? kInvalidValue : ipc_name(&name.vendor, allocation.base);
    if (code == kInvalidValue) {
      (void)take_last_error();
      return refuse(gyreErrorUnsupported,
                    fmt::format("memory at {} cannot be mapped by another process: take memory "
                                "from ncclMemAlloc, gyreDeviceAlloc or {}Malloc",
                                pointer, kName));
    }
    if (code != kOk) return failure(code, "IpcGetMemHandle", ordinal);
    name.process = own_process();
    name.base = reinterpret_cast<std::uint64_t>(allocation.base);
    name.bytes = allocation.bytes;
    name.offset = reinterpret_cast<std::uint64_t>(pointer) - name.base;
    *handle = {};
    std::memcpy(handle->bytes, &name, sizeof name);
    return gyreSuccess;
  });
}

gyreResult ipc_import(int ordinal, const gyreIpcHandle* handle, void** pointer) noexcept {
  *pointer = nullptr;
  Name name;
  std::memcpy(&name, handle->bytes, sizeof name);
  if (name.mark != kMark || name.kind != kKind || name.offset >= name.bytes) {
    return refuse(gyreErrorInvalidArgument, "the bytes are no handle of this kind of device");
  }
  return beside_captures(ordinal, [&] {
    const std::lock_guard lock(imports().mutex);
    auto& list = imports().list;
    auto found = list.begin();
    while (found != list.end() && !found->is_of(ordinal, name)) ++found;
    if (found == list.end()) {
      if (const auto result = open(ordinal, name); result != gyreSuccess) return result;
      found = list.begin();
    }
    ++found->users;
    *pointer = found->base + name.offset;
    return gyreSuccess;
  });
}

gyreResult ipc_close(int ordinal, void* pointer) noexcept {
  return beside_captures(ordinal, [&] {
    const std::lock_guard lock(imports().mutex);
    auto& list = imports().list;
    auto found = list.begin();
    while (found != list.end() && !found->holds(ordinal, static_cast<std::byte*>(pointer))) ++found;
    if (found == list.end()) {
      return refuse(gyreErrorInvalidArgument,
                    fmt::format("{} was not imported on {} device {}", pointer, kTitle, ordinal));
    }
    if (--found->users > 0) return gyreSuccess;
    const Import last = *found;
    list.erase(found);
    if (last.name.process == own_process()) return gyreSuccess;
    return finish(ipc_shut(last.base), "IpcCloseMemHandle", ordinal);
  });
}

}  // namespace gyre::gpu
