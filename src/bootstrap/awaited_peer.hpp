// What a waiting rank says of its wait, so that two ranks that wait for each other are found.
#pragma once

#include <cstdint>

namespace gyre {

// A rank that could not go on before `peer` sent it one message of data more than the `taken` that
// it had taken from it by then; it had sent `sent` there. Both only grow. Once true, it stays true
// until the peer has sent that message, however old the note is.
struct AwaitedPeer {
  std::int32_t peer = -1;  // none
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::uint32_t call = 0;  // CallTag and CallStamp of what the rank is in
  std::uint64_t stamp = 0;

  bool operator==(const AwaitedPeer&) const = default;
};

// Whether neither of two ranks can ever go on. Say a's note is the older one. When b made its own
// it had sent no more than a had taken, so a stood where it had noted it; and a had sent no more
// than b had taken, so that b waits for what a cannot send before b has sent. Nothing is on its way
// then, and no rank but these two can change it; ranks that are slow or that have not come make no
// note for which both equations hold.
inline bool wait_for_each_other(int a, const AwaitedPeer& of_a, int b, const AwaitedPeer& of_b) {
  return of_a.peer == b && of_b.peer == a && of_a.taken == of_b.sent && of_b.taken == of_a.sent;
}

}  // namespace gyre
