// The memory of a symbolic run: what every chunk of every rank's buffers and scratch holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/specification.hpp"
#include "schedule/step.hpp"
#include "schedule/value.hpp"

namespace gyre {

// Chunks are numbered as cells; in place, an input and an output chunk may be the same cell.
class MemoryModel {
 public:
  MemoryModel(std::span<const Program> programs, const Specification& specification,
              const RankMarks& marks, std::uint64_t tiles, bool in_place)
      : specification_(&specification),
        tiles_(tiles),
        inputs_(programs[0].input_chunks),
        outputs_(programs[0].output_chunks),
        in_place_(in_place) {
    std::uint64_t cells = 0;
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      const std::uint64_t inputs = specification.has_input(rank) ? inputs_ : 0;
      const std::uint64_t outputs = specification.has_output(rank) ? outputs_ : 0;
      bases_.push_back({cells, cells + tiles_ * inputs, cells + tiles_ * (inputs + outputs)});
      cells += tiles_ * (inputs + outputs) + programs[rank].scratch_chunks;
    }
    values_.resize(cells);
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      if (!specification.has_input(rank)) continue;
      for (std::uint64_t tile = 0; tile < tiles_; ++tile) {
        for (std::uint32_t chunk = 0; chunk < inputs_; ++chunk) {
          values_[input(rank, tile, chunk)] =
              Value::contribution(rank, marks.of(rank), chunk, tile);
        }
      }
    }
  }

  std::uint64_t cells() const { return values_.size(); }
  std::uint32_t inputs() const { return inputs_; }
  std::uint32_t outputs() const { return outputs_; }
  Value& at(std::uint64_t cell) { return values_[cell]; }

  std::uint64_t input(std::uint32_t rank, std::uint64_t tile, std::uint32_t chunk) const {
    if (in_place_) {
      if (const auto shared = specification_->in_place(rank, chunk)) {
        return output(rank, tile, *shared);
      }
    }
    return bases_[rank].input + tile * inputs_ + chunk;
  }
  std::uint64_t output(std::uint32_t rank, std::uint64_t tile, std::uint32_t chunk) const {
    return bases_[rank].output + tile * outputs_ + chunk;
  }
  // One for all tiles: what an earlier tile left there does not fold with this one's values.
  std::uint64_t scratch(std::uint32_t rank, std::uint32_t chunk) const {
    return bases_[rank].scratch + chunk;
  }
  std::uint64_t cell(std::uint32_t rank, Side side, std::uint64_t tile, std::uint32_t chunk) const {
    if (side == Side::input) return input(rank, tile, chunk);
    return side == Side::output ? output(rank, tile, chunk) : scratch(rank, chunk);
  }

 private:
  // The first cells of a rank's buffers; a buffer that the rank does not have has no cells.
  struct Base {
    std::uint64_t input, output, scratch;
  };

  const Specification* specification_;
  std::uint64_t tiles_;
  std::uint32_t inputs_;
  std::uint32_t outputs_;
  bool in_place_;
  std::vector<Base> bases_;
  std::vector<Value> values_;
};

}  // namespace gyre
