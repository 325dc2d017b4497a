// LD_PRELOADed into peers: their TCP connections use the congestion control that Gyre chooses for
// its own, since BBR, some machines' default, halves large messages over loopback.
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

extern "C" int socket(int domain, int type, int protocol) noexcept {
  static const auto next = reinterpret_cast<decltype(&socket)>(dlsym(RTLD_NEXT, "socket"));
  const int descriptor = next(domain, type, protocol);
  if (descriptor >= 0 && (domain == AF_INET || domain == AF_INET6)) {
    // Refused for sockets that are not TCP's and where the kernel has no cubic: then nothing is
    // lost.
    constexpr char kName[] = "cubic";
    static_cast<void>(
        setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, kName, sizeof(kName) - 1));
  }
  return descriptor;
}
