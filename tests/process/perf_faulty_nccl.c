/* A libnccl whose all-reduce is broken in the way that FAULTY_NCCL says; everything else is the
 * real library's, which this module depends on. For the tests of the *_perf programs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl.h"

__attribute__((visibility("default"))) ncclResult_t ncclAllReduce(const void* sendbuff,
                                                                  void* recvbuff, size_t count,
                                                                  ncclDataType_t datatype,
                                                                  ncclRedOp_t op, ncclComm_t comm,
                                                                  cudaStream_t stream) {
  const char* fault = getenv("FAULTY_NCCL");
  const ncclResult_t result = pncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
  int rank = -1;
  pncclCommUserRank(comm, &rank);
  if (fault == NULL || rank != 0) return result;
  if (strcmp(fault, "corrupt") == 0 && count > 0) ((char*)recvbuff)[0] ^= 1;
  if (strcmp(fault, "error") == 0) return ncclInternalError;
  while (strcmp(fault, "hang") == 0) pause();
  return result;
}
