// What a TCP connection over loopback carries.
#pragma once

#include "bench/limits/cores.hpp"

namespace gyre::limits {

struct TcpRate {
  double micros = 0;       // one way, 8 bytes, the better of waiting and spinning receivers
  double stream_gbps = 0;  // one side sends
  double duplex_gbps = 0;  // both send at once; what both sent
};

// The best of what fits into `seconds` each. Congestion control is cubic where this process may
// choose it. Throws std::system_error if there is no loopback.
TcpRate tcp_rate(const Cores& cores, double seconds);

}  // namespace gyre::limits
