// What every example needs before its few lines: who am I, a device, a stream, a communicator.
// Portable: only gyre/comm.h names and gyre/device.h, so NVIDIA's or AMD's library may serve.
#pragma once

#include <gyre/comm.h>
#include <gyre/device.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

inline void require(COMM_RESULT_T result) {
  if (result != COMM_SUCCESS) throw std::runtime_error(COMM_ERROR_STRING(result));
}
inline void require(gyreResult result) {
  if (result != gyreSuccess) throw std::runtime_error(gyreDeviceErrorString(result));
}

// A variable that `gyre run` and torchrun set; `alone` without a launcher.
inline std::string from_launcher(const char* name, const char* alone) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : alone;
}

// Where rank 0 serves the others. torchrun keeps the port that it names for a store of its own, so
// there every rank derives another one, below those that connections take theirs from.
inline std::string meeting_place() {
  const std::string address = from_launcher("MASTER_ADDR", "127.0.0.1");
  const std::string port = from_launcher("MASTER_PORT", "29500");
  const std::string job = from_launcher("TORCHELASTIC_RUN_ID", "");
  if (job.empty()) return address + ":" + port;
  const std::string attempt = from_launcher("TORCHELASTIC_RESTART_COUNT", "0");
  const std::size_t hash = std::hash<std::string>()(job + ' ' + attempt + ' ' + port);
  return address + ":" + std::to_string(20000 + hash % 12000);
}

class Job {
 public:
  Job()
      : rank_(std::stoi(from_launcher("RANK", "0"))),
        world_(std::stoi(from_launcher("WORLD_SIZE", "1"))) {
    // Before the first call: libraries read their settings once. With this variable every library
    // gives the same id to all ranks: rank 0's address.
    if (world_ > 1) setenv("NCCL_COMM_ID", meeting_place().c_str(), 0);
    require(gyreDeviceOpen(gyreDeviceAuto, std::stoi(from_launcher("LOCAL_RANK", "0")), &device_));
    require(gyreStreamCreate(device_, &stream_));
    COMM_ID id;
    require(COMM_GET_ID(&id));
    require(COMM_INIT(&comm_, world_, id, rank_));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    COMM_DESTROY(comm_);
    gyreStreamDestroy(device_, stream_);
    gyreDeviceClose(device_);
  }

  int rank() const { return rank_; }
  int world() const { return world_; }
  COMM_T comm() const { return comm_; }
  gyreDevice_t device() const { return device_; }
  gyreStream_t stream() const { return stream_; }
  COMM_STREAM_T comm_stream() const { return reinterpret_cast<COMM_STREAM_T>(stream_); }
  void wait() const { require(gyreStreamSynchronize(device_, stream_)); }

 private:
  int rank_;
  int world_;
  gyreDevice_t device_ = nullptr;
  gyreStream_t stream_ = nullptr;
  COMM_T comm_ = nullptr;
};

// Floats in the device's memory, written and read from the host.
class Floats {
 public:
  Floats(const Job& job, const std::vector<float>& values) : job_(job), count_(values.size()) {
    void* memory = nullptr;
    require(gyreDeviceAlloc(job.device(), count_ * sizeof(float), &memory));
    data_ = static_cast<float*>(memory);
    write(values);
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  ~Floats() { gyreDeviceFree(job_.device(), data_); }

  float* data() const { return data_; }
  std::size_t count() const { return count_; }
  void write(const std::vector<float>& values) const {
    require(gyreDeviceCopy(job_.device(), data_, values.data(), count_ * sizeof(float)));
  }
  std::vector<float> read() const {
    std::vector<float> values(count_);
    require(gyreDeviceCopy(job_.device(), values.data(), data_, count_ * sizeof(float)));
    return values;
  }

 private:
  const Job& job_;
  std::size_t count_;
  float* data_ = nullptr;
};

// Runs `body`, which returns whether all went as it should; the exit status of main.
template <typename Body>
int run(Body&& body) {
  try {
    return body() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace examples
