// The portable example again, in front of NVIDIA's own nccl.h.
#include "trainer/examples/sync_gradients.cc"

#ifdef GYRE_NCCL_STREAM
#error "this file is to be compiled with NVIDIA's nccl.h, and found Gyre's"
#endif
