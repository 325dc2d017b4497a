// Graphs as a user's program makes them: by the driver's own calls. Values and types are those of
// cuda.h, which is not there on every machine that builds the tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <gyre/device.h>

namespace gyre::test {

struct DriverGraphs {
  enum Mode : int { global = 0, thread_local_ = 1, relaxed = 2 };
  int (*begin)(gyreStream_t, Mode) = nullptr;
  int (*end)(gyreStream_t, void** graph) = nullptr;
  int (*instantiate)(void** run, void* graph, unsigned long long flags) = nullptr;
  int (*launch)(void* run, gyreStream_t) = nullptr;
  int (*destroy_run)(void* run) = nullptr;
  int (*destroy)(void* graph) = nullptr;

  DriverGraphs() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    find(library, "cuStreamBeginCapture_v2", begin);
    find(library, "cuStreamEndCapture", end);
    find(library, "cuGraphInstantiateWithFlags", instantiate);
    find(library, "cuGraphLaunch", launch);
    find(library, "cuGraphExecDestroy", destroy_run);
    find(library, "cuGraphDestroy", destroy);
  }

  template <typename Function>
  static void find(void* library, const char* name, Function& function) {
    if (library != nullptr) function = reinterpret_cast<Function>(::dlsym(library, name));
    EXPECT_NE(function, nullptr) << name;
  }
};

}  // namespace gyre::test
