/* One source for NCCL, RCCL and Gyre: each name below is the spelling of whichever nccl.h is found.
 *
 * Define GYRE_COMM_RCCL to take <rccl/rccl.h>; without it <nccl.h> is taken if there is one, else
 * RCCL's. Nothing here needs a Gyre library: the same source links against NVIDIA's libnccl. */
#ifndef GYRE_COMM_H_
#define GYRE_COMM_H_

#if !defined(GYRE_COMM_RCCL) && defined(__has_include)
#if !__has_include(<nccl.h>)
#define GYRE_COMM_RCCL
#endif
#endif
#if defined(GYRE_COMM_RCCL)
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

/* Types. A stream of gyre/device.h converts with (COMM_STREAM_T)stream. */
#define COMM_T ncclComm_t
#define COMM_ID ncclUniqueId
#define COMM_RESULT_T ncclResult_t
#define COMM_TYPE_T ncclDataType_t
#define COMM_OP_T ncclRedOp_t
#if defined(GYRE_COMM_RCCL)
#define COMM_STREAM_T hipStream_t
#else
#define COMM_STREAM_T cudaStream_t
#endif

/* Results */
#define COMM_SUCCESS ncclSuccess
#define COMM_IN_PROGRESS ncclInProgress
#define COMM_ERROR_STRING ncclGetErrorString
#define COMM_LAST_ERROR ncclGetLastError

/* Life of a communicator */
#define COMM_GET_ID ncclGetUniqueId
#define COMM_INIT ncclCommInitRank
#define COMM_INIT_ALL ncclCommInitAll
#define COMM_SPLIT ncclCommSplit
#define COMM_FINALIZE ncclCommFinalize
#define COMM_DESTROY ncclCommDestroy
#define COMM_ABORT ncclCommAbort
#define COMM_COUNT ncclCommCount
#define COMM_RANK ncclCommUserRank
#define COMM_DEVICE ncclCommCuDevice
#define COMM_GET_ERROR ncclCommGetAsyncError

/* Collectives and messages */
#define COMM_ALL_REDUCE ncclAllReduce
#define COMM_REDUCE ncclReduce
#define COMM_REDUCE_SCATTER ncclReduceScatter
#define COMM_ALL_GATHER ncclAllGather
#define COMM_BROADCAST ncclBroadcast
#define COMM_SEND ncclSend
#define COMM_RECV ncclRecv
#define COMM_GROUP_START ncclGroupStart
#define COMM_GROUP_END ncclGroupEnd

/* Element types */
#define COMM_INT8 ncclInt8
#define COMM_UINT8 ncclUint8
#define COMM_INT32 ncclInt32
#define COMM_UINT32 ncclUint32
#define COMM_INT64 ncclInt64
#define COMM_UINT64 ncclUint64
#define COMM_HALF ncclFloat16
#define COMM_FLOAT ncclFloat32
#define COMM_DOUBLE ncclFloat64
#define COMM_BFLOAT16 ncclBfloat16

/* Operations */
#define COMM_SUM ncclSum
#define COMM_PROD ncclProd
#define COMM_MAX ncclMax
#define COMM_MIN ncclMin
#define COMM_AVG ncclAvg

#endif /* GYRE_COMM_H_ */
