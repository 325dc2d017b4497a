// What threads do that nobody joins when the process ends.
//
// exit() takes a vendor's runtime down, and unmaps the memory that it pinned, while threads still
// run. One that calls the runtime then, or looks at that memory, crashes a program that has done
// all it had to. So such threads do everything of that kind as Work: none begins once the end has
// begun, and the end waits, for a while, for what is at it.
//
// A child of fork() has none of these threads, and its exit() waits for nothing.
#pragma once

namespace gyre {

// All functions from any thread.
class ProcessEnd {
 public:
  // Has exit() wait for those at work. What is to be there as long as they are (a vendor's runtime)
  // has been initialized: exit() takes down first what was registered last.
  static void watch();

  // What is done while it is true can count on the runtime and its memory. May be nested.
  class [[nodiscard]] Work {
   public:
    Work();
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    explicit operator bool() const { return begun_; }

   private:
    bool begun_ = false;
  };
};

}  // namespace gyre
