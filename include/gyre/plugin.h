/* The Backend: what Gyre needs of a kind of device, as a C table. The host table is built in;
 * libgyre_cuda.so and libgyre_hip.so each export `gyreBackendTable`, which Gyre finds by dlopen.
 *
 * Rules of the table: C types only, no exceptions out of it, safe to call from any thread. `size`
 * and `version` come first; a loader takes a table whose version equals its own and whose size
 * covers the entries up to `launch`; entries added later go to the end and are looked for by size.
 * `ordinal` is a device number of this back-end. A failing entry returns its code and leaves a text
 * for last_error() on the same thread. */
#ifndef GYRE_PLUGIN_H_
#define GYRE_PLUGIN_H_

#include <gyre/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GYRE_BACKEND_VERSION 1u

typedef enum {
  gyrePointerUnknown = 0, /* memory that the device cannot reach: pageable host memory, say */
  gyrePointerHost = 1,    /* host memory that the device reaches at the same address */
  gyrePointerDevice = 2
} gyrePointerKind;

typedef struct {
  size_t size; /* sizeof(gyrePointerInfo) of the caller, set before the call */
  gyrePointerKind kind;
  int ordinal;         /* of the device that the memory belongs to */
  void* base;          /* of its allocation; null if not known */
  size_t bytes;        /* of its allocation */
  uint64_t allocation; /* never used again for another allocation of this process; 0: not known */
} gyrePointerInfo;

/* A kernel start. `kernel` is the back-end's number of a compiled kernel; `arguments` are copied
 * before launch returns. */
typedef struct {
  size_t size; /* sizeof(gyreLaunch) */
  uint32_t kernel;
  uint32_t blocks;
  uint32_t threads;      /* of a block */
  uint32_t shared_bytes; /* dynamic shared memory of a block */
  const void* arguments;
  size_t argument_bytes;
} gyreLaunch;

typedef struct {
  size_t size; /* sizeof(gyreBackend) of the plugin */
  uint32_t version;
  gyreDeviceKind kind;
  const char* name; /* "host", "cuda", "hip" */

  const char* (*last_error)(void); /* never null */
  gyreResult (*device_count)(int* count);
  gyreResult (*device_info)(int ordinal, gyreDeviceInfo* info);
  gyreResult (*device_select)(int ordinal);
  gyreResult (*device_synchronize)(int ordinal);

  gyreResult (*memory_alloc)(int ordinal, size_t bytes, void** pointer);
  gyreResult (*memory_free)(int ordinal, void* pointer);
  gyreResult (*host_alloc)(int ordinal, size_t bytes, void** pointer);
  gyreResult (*host_free)(int ordinal, void* pointer);
  gyreResult (*copy)(int ordinal, void* to, const void* from, size_t bytes);
  gyreResult (*copy_async)(int ordinal, void* to, const void* from, size_t bytes,
                           gyreStream_t stream);
  gyreResult (*fill_async)(int ordinal, void* to, int value, size_t bytes, gyreStream_t stream);

  gyreResult (*stream_create)(int ordinal, gyreStream_t* stream);
  gyreResult (*stream_destroy)(int ordinal, gyreStream_t stream);
  gyreResult (*stream_synchronize)(int ordinal, gyreStream_t stream);
  gyreResult (*stream_query)(int ordinal, gyreStream_t stream);
  gyreResult (*stream_wait_event)(int ordinal, gyreStream_t stream, gyreEvent_t event);

  gyreResult (*event_create)(int ordinal, gyreEvent_t* event);
  gyreResult (*event_destroy)(int ordinal, gyreEvent_t event);
  gyreResult (*event_record)(int ordinal, gyreEvent_t event, gyreStream_t stream);
  gyreResult (*event_synchronize)(int ordinal, gyreEvent_t event);
  gyreResult (*event_query)(int ordinal, gyreEvent_t event);
  gyreResult (*event_elapsed_ms)(int ordinal, gyreEvent_t begin, gyreEvent_t end,
                                 float* milliseconds);

  gyreResult (*ipc_export)(int ordinal, void* pointer, gyreIpcHandle* handle);
  gyreResult (*ipc_import)(int ordinal, const gyreIpcHandle* handle, void** pointer);
  gyreResult (*ipc_close)(int ordinal, void* pointer);

  /* What follows may be null in a back-end without kernels (host: the executor runs the programs
   * itself). */

  /* The calling thread's device. */
  gyreResult (*device_current)(int* ordinal);
  /* 16 bytes that no other device of any machine has. */
  gyreResult (*device_identity)(int ordinal, unsigned char* identity);
  /* Lets `ordinal` use the memory of device `other` of this process. Unsupported: no such path. */
  gyreResult (*peer_access)(int ordinal, int other);
  gyreResult (*pointer_info)(int ordinal, const void* pointer, gyrePointerInfo* info);

  /* Memory for the work that follows on the stream, until the free on it; also while it is
   * captured. */
  gyreResult (*memory_alloc_async)(int ordinal, size_t bytes, void** pointer, gyreStream_t stream);
  gyreResult (*memory_free_async)(int ordinal, void* pointer, gyreStream_t stream);
  /* Lets the device reach host memory, at `device_pointer`. */
  gyreResult (*host_register)(int ordinal, void* pointer, size_t bytes, void** device_pointer);
  gyreResult (*host_unregister)(int ordinal, void* pointer);

  /* An event for order alone, without a time. */
  gyreResult (*event_create_untimed)(int ordinal, gyreEvent_t* event);
  /* A number of the capture that the stream takes part in; 0: it captures nothing. */
  gyreResult (*stream_capture)(int ordinal, gyreStream_t stream, uint64_t* capture);

  /* A number that no other stream of this process ever has, unlike its handle; 0: not known. */
  gyreResult (*stream_identity)(int ordinal, gyreStream_t stream, uint64_t* identity);

  /* Loads all kernels: a first launch would do it, and wait for the device meanwhile. */
  gyreResult (*load_kernels)(int ordinal);
  /* How many blocks of `threads` of a kernel the whole device holds at once. */
  gyreResult (*resident_blocks)(int ordinal, uint32_t kernel, uint32_t threads, uint32_t* blocks);
  gyreResult (*launch)(int ordinal, const gyreLaunch* launch, gyreStream_t stream);
} gyreBackend;

/* The symbol that a plugin exports. Returns null if it cannot serve `version`. */
typedef const gyreBackend* (*gyreBackendTable_t)(uint32_t version);
#define GYRE_BACKEND_SYMBOL "gyreBackendTable"

#ifdef __cplusplus
}
#endif

#endif /* GYRE_PLUGIN_H_ */
