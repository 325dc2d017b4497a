/* The collective interface shared by nccl.h and rccl/rccl.h, which define GYRE_NCCL_STREAM (the
 * stream type of their vendor) before they include it. Programs include one of those two.
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

#include <stddef.h>
#include <stdint.h>

#include "nccl_types.h"

#ifndef GYRE_NCCL_STREAM
struct CUstream_st;
#define GYRE_NCCL_STREAM struct CUstream_st*
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Declares a function and its p twin. */
#define GYRE_NCCL_FUNCTION(type, name, arguments) \
  type name arguments;                            \
  type p##name arguments

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

/* Frees it. Operations that still run have one second to end; then they are stopped, as by
 * ncclCommAbort: finalize first where they may take longer. */
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

/* Announces a buffer of size bytes that operations will use often. Local. If it lies in shared,
 * writable mappings of one file (a memfd, a file of /dev/shm), processes of this host read it and
 * write it in place, as they do with ncclMemAlloc's memory; other buffers gain nothing, and that is
 * no error. Neither is the file to be cut short nor the memory to be unmapped while it is
 * registered. */
GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommRegister,
                   (const ncclComm_t comm, void* buff, size_t size, void** handle));
/* Takes that back, peers' mappings too, once no operation uses the buffer. The end of the
 * communicator does it for what is left. NULL does nothing. */
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
 * Read access to the library's settings, by key (the environment variable's name): what it read
 * when it began, not the environment of now. If it could not read that, the same error. */

GYRE_NCCL_FUNCTION(ncclResult_t, ncclParamBind, (ncclParamHandle_t * out, const char* key));

/* The value as that type: bytes, seconds, 0 or 1 for switches ("128K" is 131072);
 * ncclInvalidArgument if it does not fit or is no whole number. */
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
