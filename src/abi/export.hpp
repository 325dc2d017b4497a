// How the exported functions are declared.
//
// libgyre.so holds every function under its nccl name prefixed by gyre_; libnccl.so.2 and
// librccl.so.1 hold nothing but jumps to these (trampolines generated from nccl_symbols.txt and
// rccl_symbols.txt), so that a process which loads both still has one Gyre.
#pragma once

#include "gyre/nccl_api.h"
#include "gyre/nccl_device_host.h"

#if !defined(GYRE_API)
#define GYRE_API __attribute__((visibility("default")))
#endif

// Declares gyre_<name> with exactly the type that the public header gives <name>; the definition
// that follows must match it.
#define GYRE_EXPORTS(name) extern "C" GYRE_API decltype(::name) gyre_##name
