// The processes of a run, as the harness sees them: who there is, and the few exchanges that happen
// outside the library under test.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace gyre::bench {

// All calls are collective and made by one thread of each process. Errors are thrown as Failure.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // among the processes of this machine
  virtual int local_size() const = 0;
  // The bytes of all processes in rank order. All give equally many.
  virtual std::vector<std::byte> all_gather(std::span<const std::byte> mine) = 0;
  virtual void barrier() = 0;
};

// The group that the launcher's environment describes (gyre run, torchrun, Open MPI, MPICH, Slurm),
// or a group of this process alone if there is no launcher.
std::unique_ptr<ProcessGroup> join_processes();

// One value of each process, in rank order.
template <typename T>
std::vector<T> all_gather_values(ProcessGroup& group, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = group.all_gather(std::as_bytes(std::span(&mine, 1)));
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace gyre::bench
