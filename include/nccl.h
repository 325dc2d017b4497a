/* The NCCL host interface of Gyre (libnccl.so.2), for C99 and C++.
 *
 * Gyre's interface is compatible with NCCL's, by name, value and layout; text and implementation
 * are Gyre's own. Declarations live in gyre/nccl_api.h, which rccl/rccl.h shares; this file only
 * says what a stream is.
 *
 * CUDA is optional. When its headers are on the include path they are included, as programs
 * written for NCCL rely on getting them (and __CUDA_BF16_TYPES_EXIST__, __CUDA_FP8_TYPES_EXIST__)
 * from here. Without them, or with GYRE_NO_CUDA defined, a stream is the same opaque pointer type
 * that CUDA declares, so that the CUDA headers may still be included before or after this one.
 */
#ifdef RCCL_H_
#error "nccl.h and rccl/rccl.h declare the same functions for different streams: include only one"
#endif

#ifndef NCCL_H_
#define NCCL_H_

#if !defined(GYRE_NO_CUDA) && defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#endif
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#endif
#if defined(__cplusplus) && __has_include(<cuda_fp8.h>)
#include <cuda_fp8.h>
#endif
#endif
#endif

/* CUDA's driver_types.h, whose guard this is, has declared the type already. C99 forbids to
 * repeat a typedef, even the same one. */
#ifndef __DRIVER_TYPES_H__
typedef struct CUstream_st* cudaStream_t;
#endif

#define GYRE_NCCL_STREAM cudaStream_t
#include "gyre/nccl_api.h"

#endif
