/* The collective interface shared by nccl.h and rccl/rccl.h, which define GYRE_NCCL_STREAM (the
 * stream type of their vendor) before they include it. Programs include one of those two.
 *
 * Version. NCCL_MAJOR/MINOR/PATCH say 2.28.9, and ncclGetVersion() reports the same by default:
 * that is what feature gates of client programs should see, and what they are tested with. The
 * host functions, enumerators and structures of NCCL 2.29 and 2.30 are declared all the same
 * (GYRE_NCCL_API_LEVEL), for programs that ask for them by name. The initializers stamp structures
 * with that level, because it is the level of the layout that they fill in.
 *
 * Every function f has a twin pf with the same arguments and effect: a tool that interposes f
 * (a profiler, a tracer) calls pf to reach the library.
 *
 * Rules that hold for all functions, unless said otherwise:
 * - They return ncclSuccess or say what went wrong; ncclGetLastError() has the full text.
 * - A communicator is used by one thread at a time; ncclCommGetAsyncError() and ncclCommAbort()
 *   may be called from any thread at any time.
 * - On a communicator with blocking == 0 they may return ncclInProgress: poll
 *   ncclCommGetAsyncError() until it yields another value, before the next call.
 * - Operations are enqueued on the stream and return before they have run. All ranks issue the
 *   same operations in the same order. Counts are in elements of the data type, not bytes.
 */
#ifndef GYRE_NCCL_API_H_
#define GYRE_NCCL_API_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifndef GYRE_NCCL_STREAM
struct CUstream_st;
#define GYRE_NCCL_STREAM struct CUstream_st*
#endif

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""

/* Until 2.8 a version was written in four digits, since then in five. */
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE 22809

/* The newest release whose host functions and layouts are declared here: 2.30.7. */
#define GYRE_NCCL_API_LEVEL 23007

#ifdef __cplusplus
extern "C" {
#endif

/* Declares a function and its p twin. */
#define GYRE_NCCL_FUNCTION(type, name, arguments) \
  type name arguments;                            \
  type p##name arguments

/* ---- Types and constants ---------------------------------------------------------------- */

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
typedef struct ncclParamHandle* ncclParamHandle_t;
#define NCCL_COMM_NULL NULL

/* Opaque; made by one process and copied byte by byte to the others. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,
  ncclNumResults = 9
} ncclResult_t;

typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5, /* the first value that ncclRedOpCreate* may hand out */
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/* Where the scalar of a custom reduction is, and so when it is read. */
typedef enum {
  ncclScalarDevice = 0,       /* device-visible memory, read while the operation runs */
  ncclScalarHostImmediate = 1 /* host memory, read before the creating call returns */
} ncclScalarResidence_t;

/* What ncclCommMemStats can be asked for; amounts are in bytes. */
typedef enum {
  ncclStatGpuMemSuspend = 0,   /* device memory that ncclCommSuspend would release */
  ncclStatGpuMemSuspended = 1, /* 1 while it is released, else 0 */
  ncclStatGpuMemPersist = 2,   /* device memory that cannot be released */
  ncclStatGpuMemTotal = 3      /* all device memory of the communicator */
} ncclCommMemStat_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f
#define NCCL_API_MAGIC 0xcafebeef

#define NCCL_SPLIT_NOCOLOR -1 /* ncclCommSplit: take part, but join no new communicator */

#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01  /* same offset in the allocation on every rank */
#define NCCL_WIN_STRICT_ORDERING 0x02 /* one-sided writes become visible in order */
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01 /* stop the parent's running operations first */

#define NCCL_REVOKE_DEFAULT 0x00
#define NCCL_SUSPEND_MEM 0x01

/* Options of a communicator. Start from NCCL_CONFIG_INITIALIZER, then assign fields; a field left
 * undefined takes its default (or the parent's value, for a derived communicator). Append-only:
 * the library reads no more than `size` bytes and ignores fields younger than `version`. The
 * comments name the NCCL release that introduced each field. */
typedef struct ncclConfig_v22800 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;            /* 2.14: 0 makes calls return ncclInProgress instead of waiting */
  int cgaClusterSize;      /* 2.17: thread-block cluster size */
  int minCTAs;             /* 2.17: fewest blocks per operation */
  int maxCTAs;             /* 2.17: most blocks per operation */
  const char* netName;     /* 2.17: network transport to use */
  int splitShare;          /* 2.18: 1 lets children of ncclCommSplit share resources */
  int trafficClass;        /* 2.26: traffic class of network packets */
  const char* commName;    /* 2.27: name shown in logs and traces */
  int collnetEnable;       /* 2.27: 1 permits in-network reduction */
  int CTAPolicy;           /* 2.27: NCCL_CTA_POLICY_* bits */
  int shrinkShare;         /* 2.27: 1 lets children of ncclCommShrink share resources */
  int nvlsCTAs;            /* 2.27: blocks for switch multicast */
  int nChannelsPerNetPeer; /* 2.28: channels per peer reached by network */
  int nvlinkCentricSched;  /* 2.28: 1 schedules for NVLink first */
  int graphUsageMode;      /* 2.29: 0 no graphs, 1 one graph, 2 any mix */
  int numRmaCtx;           /* 2.29: contexts for one-sided operations */
  int maxP2pPeers;         /* 2.30.3: most peers with simultaneous send and receive */
  int graphStreamOrdering; /* 2.30.7: 1 keeps captured operations in stream order */
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                \
  {                                                                                            \
    sizeof(ncclConfig_t), NCCL_API_MAGIC, GYRE_NCCL_API_LEVEL, /* size, magic, version */      \
        NCCL_CONFIG_UNDEF_INT,                                 /* blocking */                  \
        NCCL_CONFIG_UNDEF_INT,                                 /* cgaClusterSize */            \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,          /* minCTAs, maxCTAs */          \
        NCCL_CONFIG_UNDEF_PTR,                                 /* netName */                   \
        NCCL_CONFIG_UNDEF_INT,                                 /* splitShare */                \
        NCCL_CONFIG_UNDEF_INT,                                 /* trafficClass */              \
        NCCL_CONFIG_UNDEF_PTR,                                 /* commName */                  \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,          /* collnetEnable, CTAPolicy */  \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,          /* shrinkShare, nvlsCTAs */     \
        NCCL_CONFIG_UNDEF_INT,                                 /* nChannelsPerNetPeer */       \
        NCCL_CONFIG_UNDEF_INT,                                 /* nvlinkCentricSched */        \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,          /* graphUsageMode, numRmaCtx */ \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT /* maxP2pPeers, graphStreamOrdering */    \
  }

/* Result of ncclGroupSimulateEnd: the predicted time in microseconds, -1 if not known. */
typedef struct ncclSimInfo_v22200 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

/* One entry of ncclWaitSignal: wait for opCnt signals of rank peer at (ctx, sigIdx). */
typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;

/* ---- Library ---------------------------------------------------------------------------- */

/* Stores the version as NCCL_VERSION_CODE writes it. NULL: ncclInvalidArgument. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGetVersion, (int* version));

/* Constant text of a result code. */
GYRE_NCCL_FUNCTION(const char*, ncclGetErrorString, (ncclResult_t result));

/* What the last failing call of this process had to say; never NULL. comm may be NULL. */
GYRE_NCCL_FUNCTION(const char*, ncclGetLastError, (ncclComm_t comm));

/* Reads the NCCL_DEBUG* variables anew. Deprecated. */
#if defined(__GNUC__)
#define GYRE_NCCL_DEPRECATED __attribute__((deprecated))
#else
#define GYRE_NCCL_DEPRECATED
#endif
GYRE_NCCL_DEPRECATED void ncclResetDebugInit(void);
GYRE_NCCL_DEPRECATED void pncclResetDebugInit(void);

/* Memory that every optimization accepts (device memory, or host memory on a rank without a
 * device). size is in bytes and may be rounded up. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclMemAlloc, (void** ptr, size_t size));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclMemFree, (void* ptr));

/* ---- Communicators ---------------------------------------------------------------------- */

/* Makes the id with which ranks find each other. The calling process, a rank or not, serves the
 * rendezvous and so must live until every rank's init has returned; an id of a process that ended
 * fails on all ranks at their deadline. With NCCL_COMM_ID=host:port rank 0 serves it instead, and
 * any process may ask for the id and end. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * uniqueId));

/* Collective over nranks callers with the same id and distinct ranks 0..nranks-1. Binds the
 * current device. Waits for all ranks, so one thread that makes several uses a group. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommInitRank,
                   (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank));

/* The same with options; config may be NULL. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommInitRankConfig,
                   (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank,
                    ncclConfig_t* config));

/* The same with nId rendezvous points (1..nranks, equal and in equal order on all ranks). */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommInitRankScalable,
                   (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                    ncclConfig_t* config));

/* One communicator for each of ndev devices of this process; comm has room for ndev handles, and
 * rank i is device devlist[i], or i if devlist is NULL. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommInitAll,
                   (ncclComm_t * comm, int ndev, const int* devlist));

/* Collective: lets issued operations finish and makes the communicator ready to be destroyed. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommFinalize, (ncclComm_t comm));

/* Frees it, finalizing first if need be. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommDestroy, (ncclComm_t comm));

/* Stops running operations and frees it; local, needs no peer. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommAbort, (ncclComm_t comm));

/* Stops running operations but keeps it for destroy, split and shrink. revokeFlags is
 * NCCL_REVOKE_DEFAULT. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int revokeFlags));

/* Collective over all ranks of comm: ranks of one color form a new communicator, ordered by key,
 * then by old rank. NCCL_SPLIT_NOCOLOR yields NULL. config NULL inherits. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommSplit,
                   (ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                    ncclConfig_t* config));

/* Called by the remaining ranks only: a new communicator without the excluded ranks of comm.
 * shrinkFlags: NCCL_SHRINK_*. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommShrink,
                   (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                    ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags));

/* The id with which new ranks may join comm by ncclCommGrow. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t comm, ncclUniqueId* uniqueId));

/* Collective over old and new ranks: a communicator of nRanks > old size. Old ranks pass comm and
 * rank -1 (and the id at the one that made it, NULL elsewhere); new ranks pass NULL, the id and
 * their rank >= old size. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommGrow,
                   (ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                    ncclComm_t* newcomm, ncclConfig_t* config));

/* The state of comm: ncclSuccess, ncclInProgress, or the error that broke it. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommGetAsyncError,
                   (ncclComm_t comm, ncclResult_t* asyncError));

/* Number of ranks, device number, and rank of the caller. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank));

/* Collective: releases what flags name (NCCL_SUSPEND_MEM: device memory) until ncclCommResume. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommSuspend, (ncclComm_t comm, int flags));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommResume, (ncclComm_t comm));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommMemStats,
                   (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value));

/* ---- Registered memory ------------------------------------------------------------------ */

/* Announces a buffer of size bytes that operations will use often. Local. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommRegister,
                   (const ncclComm_t comm, void* buff, size_t size, void** handle));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void* handle));

/* Collective: makes a buffer of size bytes on each rank reachable by its peers. winFlags:
 * NCCL_WIN_* bits. *win is NULL where windows are not supported. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommWindowRegister,
                   (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t win));

/* The address that the window was registered with on this rank. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclWinGetUserPtr,
                   (ncclComm_t comm, ncclWindow_t win, void** outUserPtr));

/* ---- Custom reductions ------------------------------------------------------------------ */

/* An operation that multiplies each input by *scalar (of the data type), then sums. Valid for comm
 * and datatype only; may be destroyed as soon as the last call that uses it has returned. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclRedOpCreatePreMulSum,
                   (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype,
                    ncclScalarResidence_t residence, ncclComm_t comm));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm));

/* ---- Collectives ------------------------------------------------------------------------
 * "In place" says which overlap of sendbuff and recvbuff is allowed; any other is undefined. n is
 * the number of ranks, and buffer arithmetic is in elements. */

/* recvbuff of root = op over the count elements of all ranks. recvbuff is unused elsewhere.
 * In place: sendbuff == recvbuff. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclReduce,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclRedOp_t op, int root, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* ncclBroadcast with one buffer. Deprecated by it. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclBcast,
                   (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                    GYRE_NCCL_STREAM stream));

/* recvbuff of all ranks = sendbuff of root (unused elsewhere). In place: sendbuff == recvbuff. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclBroadcast,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    int root, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* recvbuff of all ranks = op over all ranks. In place: sendbuff == recvbuff. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAllReduce,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclRedOp_t op, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* sendbuff has n * recvcount elements; rank i receives block i of their reduction.
 * In place: recvbuff == sendbuff + rank * recvcount. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclReduceScatter,
                   (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                    ncclRedOp_t op, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* recvbuff has n * sendcount elements; block i is sendbuff of rank i.
 * In place: sendbuff == recvbuff + rank * sendcount. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAllGather,
                   (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                    ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* Both buffers have n * count elements; block j goes to block rank of rank j.
 * In place (sendbuff == recvbuff) works, at the price of a copy; NCCL leaves it undefined. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclAlltoAll,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* Block i of recvbuff at root (n * count elements) = sendbuff of rank i.
 * In place: sendbuff == recvbuff + root * count at root. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGather,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    int root, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* recvbuff of rank i = block i of sendbuff at root (n * count elements).
 * In place: recvbuff == sendbuff + root * count at root. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclScatter,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    int root, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* ---- Point to point --------------------------------------------------------------------- */

/* Matched pairs in issue order. Those that must progress together go in one group; a send to
 * oneself needs its receive in the same group. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclSend,
                   (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                    ncclComm_t comm, GYRE_NCCL_STREAM stream));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclRecv,
                   (void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                    ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* Writes count elements to peer's window at a byte offset, then raises (ctx, sigIdx) there.
 * flags is 0. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclPutSignal,
                   (const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                    ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                    unsigned int flags, ncclComm_t comm, GYRE_NCCL_STREAM stream));

/* The signal without data. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclSignal,
                   (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                    GYRE_NCCL_STREAM stream));

/* Makes the stream wait until all nDesc descriptors are met. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclWaitSignal,
                   (int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                    GYRE_NCCL_STREAM stream));

/* ---- Groups ----------------------------------------------------------------------------- */

/* Calls of this thread between the two start together when the outermost group ends. Groups nest.
 * Operations and the creation of communicators do not mix in one group. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGroupStart, (void));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGroupEnd, (void));

/* Ends the group without running it and predicts its time. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * simInfo));

/* ---- Parameters -------------------------------------------------------------------------
 * Read access to the library's settings, by key (the environment variable's name). */

GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamBind, (ncclParamHandle_t * out, const char* key));

/* The value as that type; ncclInvalidArgument if it does not fit. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetI8, (ncclParamHandle_t h, int8_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetI16, (ncclParamHandle_t h, int16_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetI32, (ncclParamHandle_t h, int32_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetI64, (ncclParamHandle_t h, int64_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetU8, (ncclParamHandle_t h, uint8_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetU16, (ncclParamHandle_t h, uint16_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetU32, (ncclParamHandle_t h, uint32_t* out));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetU64, (ncclParamHandle_t h, uint64_t* out));

/* The value as text, valid until this thread's next call of the same function. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetStr, (ncclParamHandle_t h, const char** out));

/* The value's bytes: at most maxLen are written to out, and *len is how many there are. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGet,
                   (ncclParamHandle_t h, void* out, int maxLen, int* len));

/* By key, as text of *valueLen characters; valid until this thread's next call. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetParameter,
                   (const char* key, const char** value, int* valueLen));

/* All keys; the table is valid until this thread's next call. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamGetAllParameterKeys,
                   (const char*** table, int* tableLen));

/* Prints all parameters to standard output. */
GYRE_NCCL_FUNCTION(void, ncclParamDumpAll, (void));

#ifdef __cplusplus
}
#endif

#endif
