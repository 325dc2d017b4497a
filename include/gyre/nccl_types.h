/* Types, constants and initializers of the collective interface: what gyre/nccl_api.h declares its
 * functions with. Programs include nccl.h or rccl/rccl.h.
 *
 * Version. NCCL_MAJOR/MINOR/PATCH say 2.28.9, and ncclGetVersion() reports the same by default:
 * that is what feature gates of client programs should see, and what they are tested with. The
 * host functions, enumerators and structures of NCCL 2.29 and 2.30 are declared all the same
 * (GYRE_NCCL_API_LEVEL), for programs that ask for them by name. The initializers stamp structures
 * with that level, because it is the level of the layout that they fill in.
 */
#ifndef GYRE_NCCL_TYPES_H_
#define GYRE_NCCL_TYPES_H_

#include <limits.h>
#include <stddef.h>

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

/* Result of ncclGroupSimulateEnd: the predicted time in microseconds. */
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

#endif
