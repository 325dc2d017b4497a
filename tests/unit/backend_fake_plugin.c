/* A back-end plugin for the loader's tests: a "cuda" with FAKE_DEVICES devices whose entries do
 * nothing. Built with several values of the macros, right and wrong. */
#include <gyre/plugin.h>
#include <string.h>

#ifndef FAKE_DEVICES
#define FAKE_DEVICES 2
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION GYRE_BACKEND_VERSION
#endif

static const char* last_error(void) { return "the fake driver sleeps"; }
static gyreResult count(int* devices) {
  *devices = FAKE_DEVICES;
  return FAKE_DEVICES < 0 ? gyreErrorSystem : gyreSuccess;
}
static gyreResult info(int ordinal, gyreDeviceInfo* out) {
  out->kind = gyreDeviceCuda;
  out->ordinal = ordinal;
  out->memory_bytes = 0;
  strcpy(out->name, "fake");
  return gyreSuccess;
}
static gyreResult on_device(int ordinal) { return ordinal == 1 ? gyreSuccess : gyreErrorSystem; }
static gyreResult alloc(int o, size_t bytes, void** p) {
  (void)o, (void)bytes;
  *p = (void*)p;
  return gyreSuccess;
}
static gyreResult free_it(int o, void* p) { return (void)o, (void)p, gyreSuccess; }
static gyreResult copy(int o, void* to, const void* from, size_t bytes) {
  (void)o;
  memcpy(to, from, bytes);
  return gyreSuccess;
}
static gyreResult copy_async(int o, void* to, const void* from, size_t n, gyreStream_t s) {
  (void)s;
  return copy(o, to, from, n);
}
static gyreResult fill(int o, void* to, int value, size_t n, gyreStream_t s) {
  (void)o, (void)s;
  memset(to, value, n);
  return gyreSuccess;
}
static gyreResult stream_create(int o, gyreStream_t* s) { return (void)o, *s = 0, gyreSuccess; }
static gyreResult stream(int o, gyreStream_t s) { return (void)o, (void)s, gyreSuccess; }
static gyreResult stream_event(int o, gyreStream_t s, gyreEvent_t e) {
  return (void)o, (void)s, (void)e, gyreSuccess;
}
static gyreResult event_create(int o, gyreEvent_t* e) { return (void)o, *e = 0, gyreSuccess; }
static gyreResult event(int o, gyreEvent_t e) { return (void)o, (void)e, gyreSuccess; }
static gyreResult event_record(int o, gyreEvent_t e, gyreStream_t s) {
  return (void)o, (void)e, (void)s, gyreSuccess;
}
static gyreResult elapsed(int o, gyreEvent_t a, gyreEvent_t b, float* ms) {
  return (void)o, (void)a, (void)b, *ms = 0, gyreSuccess;
}
static gyreResult ipc_export(int o, void* p, gyreIpcHandle* h) {
  return (void)o, (void)p, (void)h, gyreErrorUnsupported;
}
static gyreResult ipc_import(int o, const gyreIpcHandle* h, void** p) {
  return (void)o, (void)p, (void)h, gyreErrorUnsupported;
}
static gyreResult current(int* o) { return *o = 0, gyreSuccess; }
static gyreResult identity(int o, unsigned char* id) { return memset(id, o, 16), gyreSuccess; }
static gyreResult peer(int o, int other) { return (void)o, (void)other, gyreErrorUnsupported; }
static gyreResult pointer_info(int o, const void* p, gyrePointerInfo* i) {
  return (void)o, (void)p, (void)i, gyreErrorUnsupported;
}
static gyreResult alloc_async(int o, size_t bytes, void** p, gyreStream_t s) {
  return (void)s, alloc(o, bytes, p);
}
static gyreResult free_async(int o, void* p, gyreStream_t s) { return (void)s, free_it(o, p); }
static gyreResult host_register(int o, void* p, size_t bytes, void** device_p) {
  return (void)o, (void)bytes, *device_p = p, gyreSuccess;
}
/* Of a stream: its capture, or its identity. */
static gyreResult stream_number(int o, gyreStream_t s, uint64_t* number) {
  return (void)o, (void)s, *number = 0, gyreSuccess;
}
static gyreResult load_kernels(int o) { return (void)o, gyreSuccess; }
static gyreResult resident(int o, uint32_t kernel, uint32_t threads, uint32_t* blocks) {
  return (void)o, (void)kernel, (void)threads, *blocks = 1, gyreSuccess;
}
#ifdef FAKE_NO_LAUNCH
#define FAKE_LAUNCH 0
#else
static gyreResult launch(int o, const gyreLaunch* l, gyreStream_t s) {
  return (void)o, (void)l, (void)s, gyreErrorUnsupported;
}
#define FAKE_LAUNCH launch
#endif

__attribute__((visibility("default"))) const gyreBackend* gyreBackendTable(uint32_t version) {
  static const gyreBackend table = {sizeof(gyreBackend),
                                    FAKE_VERSION,
                                    gyreDeviceCuda,
                                    "cuda",
                                    last_error,
                                    count,
                                    info,
                                    on_device,
                                    on_device,
                                    alloc,
                                    free_it,
                                    alloc,
                                    free_it,
                                    copy,
                                    copy_async,
                                    fill,
                                    stream_create,
                                    stream,
                                    stream,
                                    stream,
                                    stream_event,
                                    event_create,
                                    event,
                                    event_record,
                                    event,
                                    event,
                                    elapsed,
                                    ipc_export,
                                    ipc_import,
#ifdef FAKE_HOLE
                                    0,
#else
                                    free_it,
#endif
                                    current,
                                    identity,
                                    peer,
                                    pointer_info,
                                    alloc_async,
                                    free_async,
                                    host_register,
                                    free_it,
                                    event_create,
                                    stream_number,
                                    stream_number,
                                    load_kernels,
                                    resident,
                                    FAKE_LAUNCH};
  (void)version;
  return &table;
}
