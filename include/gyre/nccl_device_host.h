/* The functions of NCCL's device interface that run on the host and that libnccl.so.2 exports.
 *
 * Gyre's kernels do not use NCCL's device interface. These entry points exist so that programs
 * that refer to them link and load: ncclCommQueryProperties answers (deviceApiSupport is false),
 * and the others say that the interface is not supported. The structures that kernels would read
 * stay opaque here, because their layout changed between NCCL 2.28 and 2.29.
 *
 * Rules of gyre/nccl_api.h hold. Does nothing if NCCL's own nccl_device.h was included before.
 */
#ifndef GYRE_NCCL_DEVICE_HOST_H_
#define GYRE_NCCL_DEVICE_HOST_H_

#include "nccl_api.h"

#ifndef _NCCL_DEVICE_CORE_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclDevComm ncclDevComm_t;
typedef struct ncclDevCommRequirements ncclDevCommRequirements_t;
typedef struct ncclDevResourceRequirements ncclDevResourceRequirements_t;
typedef struct ncclLLA2AHandle ncclLLA2AHandle_t;
typedef struct ncclLsaBarrierHandle ncclLsaBarrierHandle_t;
typedef struct ncclGinBarrierHandle ncclGinBarrierHandle_t;

/* A set of ranks with a fixed distance. */
typedef struct ncclTeam {
  int nRanks;
  int rank;   /* the caller's, within the team */
  int stride; /* between the world ranks of neighbours */
} ncclTeam_t;

typedef struct ncclMultimemHandle {
  void* mcBasePtr;
} ncclMultimemHandle_t;

typedef enum {
  NCCL_GIN_TYPE_NONE = 0,
  NCCL_GIN_TYPE_PROXY = 2,
  NCCL_GIN_TYPE_GDAKI = 3,
  NCCL_GIN_TYPE_GPI = 4
} ncclGinType_t;

/* What a communicator is and can do. Start from NCCL_COMM_PROPERTIES_INITIALIZER. */
typedef struct ncclCommProperties {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  ncclGinType_t ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  ncclGinType_t railedGinType;
} ncclCommProperties_t;

/* clang-format off */
#define NCCL_COMM_PROPERTIES_INITIALIZER                                         \
  {                                                                              \
    sizeof(ncclCommProperties_t), NCCL_API_MAGIC, GYRE_NCCL_API_LEVEL,           \
    0, 0, 0, 0, false, false, NCCL_GIN_TYPE_NONE, 0, false, NCCL_GIN_TYPE_NONE   \
  }
/* clang-format on */

GYRE_NCCL_FUNCTION(ncclResult_t, ncclCommQueryProperties,
                   (ncclComm_t comm, ncclCommProperties_t* props));

GYRE_NCCL_FUNCTION(ncclResult_t, ncclDevCommCreate,
                   (ncclComm_t comm, const ncclDevCommRequirements_t* reqs,
                    ncclDevComm_t* outDevComm));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclDevCommDestroy,
                   (ncclComm_t comm, const ncclDevComm_t* devComm));

GYRE_NCCL_FUNCTION(ncclResult_t, ncclGetLsaMultimemDevicePointer,
                   (ncclWindow_t window, size_t offset, void** outPtr));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGetMultimemDevicePointer,
                   (ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem,
                    void** outPtr));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGetLsaDevicePointer,
                   (ncclWindow_t window, size_t offset, int lsaRank, void** outPtr));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGetPeerDevicePointer,
                   (ncclWindow_t window, size_t offset, int peer, void** outPtr));

/* All ranks; those that share memory with the caller; those with the caller's place in other
 * such sets. */
GYRE_NCCL_FUNCTION(ncclTeam_t, ncclTeamWorld, (ncclComm_t comm));
GYRE_NCCL_FUNCTION(ncclTeam_t, ncclTeamLsa, (ncclComm_t comm));
GYRE_NCCL_FUNCTION(ncclTeam_t, ncclTeamRail, (ncclComm_t comm));
GYRE_NCCL_FUNCTION(int, ncclTeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank));
GYRE_NCCL_FUNCTION(int, ncclTeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank));

GYRE_NCCL_FUNCTION(int, ncclLLA2ACalcSlots, (int maxElts, int maxEltSize));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclLLA2ACreateRequirement,
                   (int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle,
                    ncclDevResourceRequirements_t* outReq));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclLsaBarrierCreateRequirement,
                   (ncclTeam_t team, int nBarriers, ncclLsaBarrierHandle_t* outHandle,
                    ncclDevResourceRequirements_t* outReq));
GYRE_NCCL_FUNCTION(ncclResult_t, ncclGinBarrierCreateRequirement,
                   (ncclComm_t comm, ncclTeam_t team, int nBarriers,
                    ncclGinBarrierHandle_t* outHandle, ncclDevResourceRequirements_t* outReq));

#ifdef __cplusplus
}
#endif

#endif
#endif
