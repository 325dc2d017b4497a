/* Makes a program that uses one GPU for each rank run several ranks on one GPU.
 *
 * Preloaded, it lets the CUDA runtime say that there are MANY_DEVICES devices, and maps each of
 * them to a device that is there. It works for programs that use the shared CUDA runtime; a library
 * with a runtime of its own sees what is really there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Every function here returns cudaError_t, whose 0 is success. */
typedef int (*CountFunction)(int*);
typedef int (*SetFunction)(int);
typedef int (*AttributeFunction)(int*, int, int);
typedef int (*PropertiesFunction)(void*, int);
typedef int (*SynchronizeFunction)(void*);

static void* next(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  if (function == NULL) {
    fprintf(stderr, "many_devices: the CUDA runtime has no %s\n", name);
    abort();
  }
  return function;
}

static int there(void) {
  static int count = 0;
  int now = 0;
  if (count == 0 && ((CountFunction)next("cudaGetDeviceCount"))(&now) == 0) {
    count = now;
  }
  return count > 0 ? count : 1;
}

int cudaGetDeviceCount(int* count) {
  const char* wanted = getenv("MANY_DEVICES");
  int error = ((CountFunction)next("cudaGetDeviceCount"))(count);
  if (error == 0 && wanted != NULL && *count > 0 && atoi(wanted) > *count) {
    *count = atoi(wanted);
  }
  return error;
}

int cudaSetDevice(int device) { return ((SetFunction)next("cudaSetDevice"))(device % there()); }

int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return ((AttributeFunction)next("cudaDeviceGetAttribute"))(value, attribute, device % there());
}

int cudaGetDeviceProperties(void* properties, int device) {
  return ((PropertiesFunction)next("cudaGetDeviceProperties"))(properties, device % there());
}

/* A thread that waited for the whole device would wait for the other ranks' calls as well, and
 * those may wait for this very thread. What it means are its own kernels, which are on the stream
 * NULL. */
int cudaDeviceSynchronize(void) {
  return ((SynchronizeFunction)next("cudaStreamSynchronize"))(NULL);
}
