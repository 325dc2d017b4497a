// A place in the code with a stack of its own, which a thread leaves and comes back to.
//
// Written by hand for the two processors that Gyre runs on: the C library's swapcontext makes two
// system calls at every switch, and a block switches some thousand times in a collective.
#pragma once

#include <cstddef>

namespace gyre::emulated {

class Context {
 public:
  // The calling thread's own, to be left and come back to.
  Context();
  // One that begins in entry(argument), which never returns.
  Context(void (*entry)(void*), void* argument);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  // Leaves this one, which is at work, and goes on with the other. Returns when somebody switches
  // back. Both on one thread of the operating system, always the same.
  void switch_to(Context& other);

  // First in entry().
  static void begun();

 private:
  void* stack_pointer_ = nullptr;
  void* memory_ = nullptr;  // an unreadable page, then the stack; null: the thread's own
  const void* bottom_ = nullptr;
  [[maybe_unused]] std::size_t bytes_ = 0;
  [[maybe_unused]] void* sanitizers_ =
      nullptr;  // what AddressSanitizer keeps while the context is left
};

}  // namespace gyre::emulated
