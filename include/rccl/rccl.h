/* The RCCL host interface of Gyre (librccl.so.1), for C99 and C++: all of gyre/nccl_api.h with HIP
 * streams, and what RCCL adds to it.
 *
 * HIP is optional. Its headers are included when they are on the include path and the compiler
 * (or -D) has named the platform, without which they refuse to be included. Otherwise, or with
 * GYRE_NO_HIP defined, a stream is the opaque pointer type that HIP declares.
 */
#ifndef RCCL_H_
#define RCCL_H_

#ifdef NCCL_H_
#error "nccl.h and rccl/rccl.h declare the same functions for different streams: include only one"
#endif
/* Programs for RCCL test the guard of NCCL's header too. */
#define NCCL_H_

#if !defined(GYRE_NO_HIP) && defined(__has_include) && \
    (defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__))
#if __has_include(<hip/hip_runtime_api.h>)
#define GYRE_RCCL_HIP_HEADERS
#include <hip/hip_runtime_api.h>
#if __has_include(<hip/hip_fp16.h>)
#include <hip/hip_fp16.h>
#endif
#endif
#endif

/* The second macro is HIP's own guard: a program that included HIP first has the type. */
#if !defined(GYRE_RCCL_HIP_HEADERS) && !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
typedef struct ihipStream_t* hipStream_t;
#endif

#define GYRE_NCCL_STREAM hipStream_t
#include "../gyre/nccl_api.h"

#define RCCL_BFLOAT16 1
#define RCCL_FLOAT8 1
#define RCCL_GATHER_SCATTER 1
#define RCCL_ALLTOALLV 1
#define RCCL_ALLREDUCE_WITH_BIAS 1
#define RCCL_SUSPEND_RESUME 1

/* Older releases of RCCL had these names for the 8-bit types. */
#define ncclFp8E4M3 ncclFloat8e4m3
#define ncclFp8E5M2 ncclFloat8e5m2

#ifdef __cplusplus
extern "C" {
#endif

/* RCCL's spelling of ncclAlltoAll. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAllToAll,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* All-to-all with a count and an offset for each peer, both in elements; each array has one entry
 * per rank and is read before the call returns. sendcounts[j] here equals recvcounts[rank] at j.
 * In place: sendbuff == recvbuff, at the price of a copy. The two spellings are one operation. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAlltoAllv,
                   (const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                    void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                    ncclDataType_t datatype, ncclComm_t comm, GYRE_NCCL_STREAM stream));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAllToAllv,
                   (const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                    void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                    ncclDataType_t datatype, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* ncclAllReduce whose result has acc, an array of count elements, folded in by op.
 * In place: sendbuff == recvbuff. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAllReduceWithBias,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclRedOp_t op, ncclComm_t comm, GYRE_NCCL_STREAM stream, const void* acc));

/* Algorithms described by files: load one (handle is an output), run it with the arguments of
 * whatever collective it implements, unload it. */
typedef int mscclAlgoHandle_t;
GYRE_NCCL_FUNCTION(ncclResult_t, mscclLoadAlgo,
                   (const char* mscclAlgoFilePath, mscclAlgoHandle_t* mscclAlgoHandle, int rank));
GYRE_NCCL_FUNCTION(ncclResult_t, mscclRunAlgo,
                   (const void* sendBuff, const size_t sendCounts[], const size_t sDisPls[],
                    void* recvBuff, const size_t recvCounts[], const size_t rDisPls[], size_t count,
                    ncclDataType_t dataType, int root, int peer, ncclRedOp_t op,
                    mscclAlgoHandle_t mscclAlgoHandle, ncclComm_t comm, GYRE_NCCL_STREAM stream));
GYRE_NCCL_FUNCTION(ncclResult_t, mscclUnloadAlgo, (mscclAlgoHandle_t mscclAlgoHandle));

#ifdef __cplusplus
}
#endif

#endif
