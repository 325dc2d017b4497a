// What a collective promises, as the verifier needs it. collectives/spec.hpp states each of them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "schedule/step.hpp"

namespace gyre {

// What an output chunk must hold in every tile: input chunk `chunk` of all ranks, folded, or of
// one.
struct Wanted {
  bool everyone = false;
  std::uint32_t rank = 0;  // if not everyone
  std::uint32_t chunk = 0;
};

class Specification {
 public:
  virtual ~Specification() = default;

  virtual std::uint32_t world() const = 0;
  // Whether contributions are folded, so that final values must be marked by `finish`.
  virtual bool reduces() const = 0;
  // Whether nobody may end before everybody has begun, and outputs mean nothing (a barrier).
  virtual bool synchronises() const { return false; }
  // Whether the program cuts its buffers the way the collective does.
  virtual Result<void> check_shape(const Program& program) const = 0;
  // Whether `rank` gives an input buffer. Reading another's is an error.
  virtual bool has_input(std::uint32_t rank) const = 0;
  // Whether it gives an output buffer. Storing elsewhere is an error.
  virtual bool has_output(std::uint32_t rank) const = 0;
  // What output chunk `chunk` of `rank`, which has an output, must hold in the end.
  virtual Wanted output(std::uint32_t rank, std::uint32_t chunk) const = 0;
  // The output chunk that shares memory with input chunk `chunk` of `rank` in an in-place call.
  virtual std::optional<std::uint32_t> in_place(std::uint32_t rank, std::uint32_t chunk) const = 0;
};

}  // namespace gyre
