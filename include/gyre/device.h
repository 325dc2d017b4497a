/* The small device runtime of Gyre's trainer and benches: one set of calls for host, CUDA and HIP
 * memory, streams, events and IPC. C99 and C++; exported by libgyre.so.
 *
 * A gyreDevice_t names one device of one back-end and is the first argument of every call. All
 * functions may be called from any thread; calls about one stream or event keep the order in which
 * they are made. Sizes are bytes. A call that fails returns its code and leaves a text that
 * gyreDeviceLastError() gives to the same thread.
 *
 * A gyreStream_t goes wherever nccl.h asks for a stream. The null stream of the host back-end does
 * its work inside the call; a host stream from gyreStreamCreate is an ordered queue with a worker
 * thread of its own (started by its first work). An error of queued work is kept by its stream and
 * returned by every later gyreStreamSynchronize, by its gyreStreamDestroy, and by the events
 * recorded after it.
 *
 * In a child of fork() the host's streams and events are gone: calls about them return
 * gyreErrorForked. */
#ifndef GYRE_DEVICE_H_
#define GYRE_DEVICE_H_

#include <stddef.h>
#include <stdint.h>

#if !defined(GYRE_API)
#define GYRE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  gyreDeviceAuto = 0, /* what GYRE_DEVICE says; by default CUDA if a device answers, HIP, host */
  gyreDeviceHost = 1,
  gyreDeviceCuda = 2,
  gyreDeviceHip = 3
} gyreDeviceKind;

typedef enum {
  gyreSuccess = 0,
  gyreErrorInvalidArgument = 1,
  gyreErrorNotReady = 2,    /* a query: the work is not complete yet */
  gyreErrorOutOfMemory = 3, /* the device has not that much memory to give */
  gyreErrorNoDevice = 4,    /* no such device, or its back-end is not installed */
  gyreErrorUnsupported = 5, /* this back-end does not provide the call */
  gyreErrorSystem = 6,      /* a system or driver call failed */
  gyreErrorWork = 7,        /* earlier work of the stream failed */
  gyreErrorForked = 8       /* a call about streams or events in a child of fork() */
} gyreResult;

typedef struct gyreDevice* gyreDevice_t;
/* The type of cudaStream_t, so that it needs no cast in nccl.h calls; opaque all the same. */
typedef struct CUstream_st* gyreStream_t;
typedef struct gyreEvent* gyreEvent_t;

#define GYRE_IPC_HANDLE_BYTES 128
/* Names device memory to another process of this machine; send it as plain bytes. */
typedef struct {
  unsigned char bytes[GYRE_IPC_HANDLE_BYTES];
} gyreIpcHandle;

typedef struct {
  size_t size; /* sizeof(gyreDeviceInfo) of the caller, set before the call */
  gyreDeviceKind kind;
  int ordinal;
  uint64_t memory_bytes; /* total; 0 if not known */
  char name[128];
} gyreDeviceInfo;

/* "auto", "host", "cuda", "hip". Parse accepts exactly these words. */
GYRE_API const char* gyreDeviceKindName(gyreDeviceKind kind);
GYRE_API gyreResult gyreDeviceKindParse(const char* text, gyreDeviceKind* kind);

/* Devices of this kind that answer; gyreDeviceAuto resolves first. */
GYRE_API gyreResult gyreDeviceCount(gyreDeviceKind kind, int* count);
/* Opens device `ordinal` (the host has exactly one, and takes any ordinal >= 0, so that ranks may
 * pass their local rank) and selects it for the calling thread. Free it with gyreDeviceClose. */
GYRE_API gyreResult gyreDeviceOpen(gyreDeviceKind kind, int ordinal, gyreDevice_t* device);
GYRE_API gyreResult gyreDeviceClose(gyreDevice_t device);
/* Makes it current on the calling thread (cudaSetDevice); nccl calls on it need that. */
GYRE_API gyreResult gyreDeviceSelect(gyreDevice_t device);
GYRE_API gyreResult gyreDeviceGetInfo(gyreDevice_t device, gyreDeviceInfo* info);
/* Waits for all streams of the device that this process created. */
GYRE_API gyreResult gyreDeviceSynchronize(gyreDevice_t device);

/* Memory aligned to at least 256 bytes, contents undefined; zero bytes give a null pointer. */
GYRE_API gyreResult gyreDeviceAlloc(gyreDevice_t device, size_t bytes, void** pointer);
GYRE_API gyreResult gyreDeviceFree(gyreDevice_t device, void* pointer);
/* Host memory that the device copies from and to at full speed. */
GYRE_API gyreResult gyreHostAlloc(gyreDevice_t device, size_t bytes, void** pointer);
GYRE_API gyreResult gyreHostFree(gyreDevice_t device, void* pointer);

/* Copies between host and device memory in any direction; ranges must not overlap. Copy returns
 * when the bytes are there, and is not ordered with the work of any stream. */
GYRE_API gyreResult gyreDeviceCopy(gyreDevice_t device, void* to, const void* from, size_t bytes);
GYRE_API gyreResult gyreDeviceCopyAsync(gyreDevice_t device, void* to, const void* from,
                                        size_t bytes, gyreStream_t stream);
/* Sets every byte to `value`. */
GYRE_API gyreResult gyreDeviceFill(gyreDevice_t device, void* to, int value, size_t bytes,
                                   gyreStream_t stream);

GYRE_API gyreResult gyreStreamCreate(gyreDevice_t device, gyreStream_t* stream);
/* Completes the queued work, then frees the stream, also when that work failed: gyreErrorWork then.
 * Null is allowed. */
GYRE_API gyreResult gyreStreamDestroy(gyreDevice_t device, gyreStream_t stream);
GYRE_API gyreResult gyreStreamSynchronize(gyreDevice_t device, gyreStream_t stream);
/* gyreSuccess, gyreErrorNotReady or the stream's error; never waits. */
GYRE_API gyreResult gyreStreamQuery(gyreDevice_t device, gyreStream_t stream);

/* An event marks a point of a stream. Waiting for one that was never recorded returns at once. */
GYRE_API gyreResult gyreEventCreate(gyreDevice_t device, gyreEvent_t* event);
GYRE_API gyreResult gyreEventDestroy(gyreDevice_t device, gyreEvent_t event);
GYRE_API gyreResult gyreEventRecord(gyreDevice_t device, gyreEvent_t event, gyreStream_t stream);
/* Later work of `stream` starts after the latest record of `event`. */
GYRE_API gyreResult gyreStreamWaitEvent(gyreDevice_t device, gyreStream_t stream,
                                        gyreEvent_t event);
GYRE_API gyreResult gyreEventSynchronize(gyreDevice_t device, gyreEvent_t event);
GYRE_API gyreResult gyreEventQuery(gyreDevice_t device, gyreEvent_t event);
/* Milliseconds between two recorded and completed events. */
GYRE_API gyreResult gyreEventElapsedMs(gyreDevice_t device, gyreEvent_t begin, gyreEvent_t end,
                                       float* milliseconds);

/* Export names the allocation that holds `pointer`; import maps it here. The host back-end's plain
 * memory cannot be exported (gyreErrorUnsupported): ncclMemAlloc gives host memory that peers map.
 */
GYRE_API gyreResult gyreIpcExport(gyreDevice_t device, void* pointer, gyreIpcHandle* handle);
GYRE_API gyreResult gyreIpcImport(gyreDevice_t device, const gyreIpcHandle* handle, void** pointer);
GYRE_API gyreResult gyreIpcClose(gyreDevice_t device, void* pointer);

/* A fixed text for a code; never null. */
GYRE_API const char* gyreDeviceErrorString(gyreResult result);
/* What the last failing call of this thread said; "" if none failed. Valid until the next one. */
GYRE_API const char* gyreDeviceLastError(void);

#ifdef __cplusplus
}
#endif

#endif /* GYRE_DEVICE_H_ */
