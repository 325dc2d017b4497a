#include "tests/emulated/context.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define GYRE_WITH_ADDRESS_SANITIZER 1
#else
#define GYRE_WITH_ADDRESS_SANITIZER 0
#endif

// gyre_emulated_switch(void** left, void* next): keeps what a callee must keep on the stack, writes
// the stack pointer to *left and does the reverse with `next`. gyre_emulated_start: where a new
// context's first switch returns to.
extern "C" void gyre_emulated_switch(void** left, void* next);
extern "C" void gyre_emulated_start();

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .hidden gyre_emulated_switch
  .globl gyre_emulated_switch
  .type gyre_emulated_switch, @function
gyre_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size gyre_emulated_switch, .-gyre_emulated_switch
  .hidden gyre_emulated_start
  .globl gyre_emulated_start
  .type gyre_emulated_start, @function
gyre_emulated_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r13, %rdi
  call *%r12
  ud2
  .cfi_endproc
  .size gyre_emulated_start, .-gyre_emulated_start
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .hidden gyre_emulated_switch
  .globl gyre_emulated_switch
  .type gyre_emulated_switch, %function
gyre_emulated_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size gyre_emulated_switch, .-gyre_emulated_switch
  .hidden gyre_emulated_start
  .globl gyre_emulated_start
  .type gyre_emulated_start, %function
gyre_emulated_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x20
  blr x19
  brk #0
  .cfi_endproc
  .size gyre_emulated_start, .-gyre_emulated_start
)");
#else
#error "the emulated device does not know this processor's registers"
#endif

namespace gyre::emulated {
namespace {

// A kernel takes its 4 KiB of parameters by value, and sanitizers' frames are large.
constexpr std::size_t kStackBytes = GYRE_WITH_ADDRESS_SANITIZER ? 256 << 10 : 64 << 10;

// What gyre_emulated_switch finds on a new stack, lowest address first. It ends where the stack
// begins, on a boundary of 16 bytes, as functions expect it.
struct FirstFrame {
#if defined(__x86_64__)
  std::uint64_t r15 = 0, r14 = 0, r13 = 0, r12 = 0, rbx = 0, rbp = 0, returns_to = 0;
  void begin(std::uint64_t entry, std::uint64_t argument, std::uint64_t start) {
    r12 = entry;
    r13 = argument;
    returns_to = start;
  }
#else
  std::uint64_t x19 = 0, x20 = 0, x21_to_x29[9] = {}, x30 = 0, d8_to_d15[8] = {};
  void begin(std::uint64_t entry, std::uint64_t argument, std::uint64_t start) {
    x19 = entry;
    x20 = argument;
    x30 = start;
  }
#endif
};

}  // namespace

Context::Context() {
#if GYRE_WITH_ADDRESS_SANITIZER
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* bottom = nullptr;
  ::pthread_attr_getstack(&attributes, &bottom, &bytes_);
  bottom_ = bottom;
  ::pthread_attr_destroy(&attributes);
#endif
}

Context::Context(void (*entry)(void*), void* argument) : bytes_(kStackBytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  memory_ = ::mmap(nullptr, page + kStackBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) {
    memory_ = nullptr;
    throw std::bad_alloc();
  }
  ::mprotect(memory_, page, PROT_NONE);
  auto* const bottom = static_cast<std::byte*>(memory_) + page;
  bottom_ = bottom;
  auto* const frame = new (bottom + kStackBytes - sizeof(FirstFrame)) FirstFrame;
  frame->begin(reinterpret_cast<std::uint64_t>(entry), reinterpret_cast<std::uint64_t>(argument),
               reinterpret_cast<std::uint64_t>(&gyre_emulated_start));
  stack_pointer_ = frame;
}

Context::~Context() {
  if (memory_ == nullptr) return;
  ::munmap(memory_, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + kStackBytes);
}

void Context::switch_to(Context& other) {
#if GYRE_WITH_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&sanitizers_, other.bottom_, other.bytes_);
#endif
  gyre_emulated_switch(&stack_pointer_, other.stack_pointer_);
#if GYRE_WITH_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(sanitizers_, nullptr, nullptr);
#endif
}

void Context::begun() {
#if GYRE_WITH_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

}  // namespace gyre::emulated
