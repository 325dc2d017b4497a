/* A C99 (and C++) program that names everything the headers promise.
 *
 * Compiling it proves the types of all functions and the values and layouts of all constants and
 * structures, against what expect/ says. Linking it proves that the library has them all, and
 * running it tries the calls that need no communicator.
 *
 * ABI_RCCL: rccl/rccl.h instead of nccl.h.
 * ABI_REFERENCE: the header is NCCL's own 2.28.9, which lacks what later releases added; so the
 * expectations are checked against their origin too.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef ABI_RCCL
#include <rccl/rccl.h>
typedef hipStream_t Stream;
#else
#include <nccl.h>
typedef cudaStream_t Stream;
#endif

#ifndef ABI_REFERENCE
#include <gyre/nccl_device_host.h>
#endif

/* One array, declared over and over: a false condition gives it another size. */
#define HOLDS(condition) extern char abi_expectation_holds[(condition) ? 1 : -1];
#define VALUE(name, value) HOLDS((long long)(name) == (long long)(value))
#define SIZE(type, bytes) HOLDS(sizeof(type) == (bytes))
#define OFFSET(type, field, bytes) HOLDS(offsetof(type, field) == (bytes))
#define CONFIG_SIZE_UP_TO(field) \
  ((offsetof(ncclConfig_t, field) + sizeof(((ncclConfig_t*)0)->field) + 7u) / 8u * 8u)

#include "expect/nccl_2_28_layout.inc"
#ifndef ABI_REFERENCE
#include "expect/device_layout.inc"
#include "expect/nccl_2_30_layout.inc"
#endif
#ifdef ABI_RCCL
#include "expect/rccl_layout.inc"
#endif

#define FUNCTION(result, name, parameters) \
  result(*name##_) parameters;             \
  result(*p##name##_) parameters;
struct Functions {
#include "expect/functions.inc"
};
#undef FUNCTION

#define FUNCTION(result, name, parameters) name, p##name,
static const struct Functions functions = {
#include "expect/functions.inc"
};
#undef FUNCTION

#define FUNCTION(result, name, parameters) #name, "p" #name,
static const char* const names[] = {
#include "expect/functions.inc"
};
#undef FUNCTION

static int failures = 0;

static void expect(int holds, const char* what, int line) {
  if (!holds) {
    ++failures;
    fprintf(stderr, "client.c:%d: expected %s\n", line, what);
  }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static void check_presence(void) {
  typedef void (*Function)(void);
  const size_t count = sizeof(names) / sizeof(names[0]);
  size_t i;
  EXPECT(sizeof(functions) == count * sizeof(Function));
  for (i = 0; i < count; ++i) {
    Function address;
    memcpy(&address, (const char*)&functions + i * sizeof(address), sizeof(address));
    expect(address != NULL, names[i], __LINE__);
  }
}

static void check_initializers(void) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  const ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  int i;
  int field;
  EXPECT(config.size == sizeof(ncclConfig_t) && config.magic == 0xcafebeefu);
  EXPECT(config.netName == NULL && config.commName == NULL);
  EXPECT(info.size == sizeof(ncclSimInfo_t) && info.magic == 0x74685283u);
  EXPECT(info.version == NCCL_VERSION_CODE && info.estimatedTime < 0);
  /* Every field but the two pointers is an int and undefined. */
  for (i = 16; i < (int)sizeof(config); i += (int)sizeof(int)) {
    if ((i >= 32 && i < 40) || (i >= 48 && i < 56)) continue;
    memcpy(&field, (const char*)&config + i, sizeof(field));
    EXPECT(field == NCCL_CONFIG_UNDEF_INT);
  }
#ifndef ABI_REFERENCE
  {
    const ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
    EXPECT(config.version == GYRE_NCCL_API_LEVEL);
    EXPECT(properties.size == 56 && properties.magic == 0xcafebeefu);
    EXPECT(properties.version == GYRE_NCCL_API_LEVEL && !properties.deviceApiSupport);
  }
#endif
}

static void check_version_and_texts(void) {
  int version = 0;
  int a;
  int b;
  EXPECT(ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE);
  version = 0;
  EXPECT(pncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE);
  EXPECT(ncclGetVersion(NULL) == ncclInvalidArgument);
  EXPECT(ncclGetLastError(NULL) != NULL);
  for (a = 0; a < (int)ncclNumResults; ++a) {
    const char* const text = ncclGetErrorString((ncclResult_t)a);
    EXPECT(text != NULL && text[0] != '\0');
    EXPECT(text != NULL && strcmp(text, pncclGetErrorString((ncclResult_t)a)) == 0);
    for (b = 0; text != NULL && b < a; ++b)
      EXPECT(strcmp(text, ncclGetErrorString((ncclResult_t)b)) != 0);
  }
  EXPECT(ncclGetErrorString(ncclNumResults) != NULL);
}

static void check_refusals(void) {
  ncclUniqueId id;
  ncclComm_t comm = NULL;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  int number = 0;
  float data[4] = {0, 0, 0, 0};
  memset(&id, 0, sizeof(id));
  EXPECT(ncclCommCount(NULL, &number) == ncclInvalidArgument);
  EXPECT(ncclGetLastError(NULL)[0] != '\0');
  EXPECT(ncclCommUserRank(NULL, &number) == ncclInvalidArgument);
  EXPECT(ncclCommCuDevice(NULL, &number) == ncclInvalidArgument);
  EXPECT(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, NULL, NULL) == ncclInvalidArgument);
  EXPECT(ncclBroadcast(data, data, 4, ncclFloat, 0, NULL, NULL) == ncclInvalidArgument);
  EXPECT(ncclAllGather(data, data, 1, ncclFloat, NULL, NULL) == ncclInvalidArgument);
  EXPECT(ncclSend(data, 4, ncclFloat, 0, NULL, NULL) == ncclInvalidArgument);
  EXPECT(ncclGetUniqueId(NULL) == ncclInvalidArgument);
  EXPECT(ncclCommInitRank(&comm, 0, id, 0) == ncclInvalidArgument);
  EXPECT(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
  EXPECT(ncclCommInitRank(&comm, 2, id, -1) == ncclInvalidArgument);
  config.magic = 0;
  EXPECT(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  EXPECT(ncclCommFinalize(NULL) == ncclSuccess);
  EXPECT(ncclCommDestroy(NULL) == ncclSuccess);
  EXPECT(ncclCommAbort(NULL) == ncclSuccess);
  EXPECT(ncclGroupEnd() == ncclInvalidUsage);
  EXPECT(ncclGroupStart() == ncclSuccess && ncclGroupEnd() == ncclSuccess);
}

int main(void) {
  check_presence();
  check_initializers();
  check_version_and_texts();
  check_refusals();
  if (failures == 0)
    printf("%d functions, all expectations hold\n", (int)(sizeof(names) / sizeof(names[0])));
  return failures == 0 ? 0 : 1;
}
