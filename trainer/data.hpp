// The text to learn, as bytes, and which pieces of it each step sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gyre::train {

// The Adventures of Sherlock Holmes, where tools/setup installs it, and by which Debian package.
inline constexpr const char* kDefaultText =
    "/usr/share/gocode/src/github.com/pierrec/lz4/testdata/pg1661.txt";
inline constexpr const char* kDefaultTextPackage = "golang-github-pierrec-lz4-dev";

class Text {
 public:
  // Reads a file; the last twentieth is held out. Throws std::runtime_error, which names the
  // package if the default text is missing, and if the file is too short for `context`.
  static Text read(const std::string& path, std::size_t context);
  Text(std::vector<std::uint8_t> bytes, std::size_t context);

  std::size_t size() const { return bytes_.size(); }

  // Sequence `index` of the global batch of `step`: inputs and the bytes that follow them. Depends
  // on seed, step and index alone, so any number of ranks sees the same batches.
  void training_sequence(std::uint64_t seed, std::uint64_t step, std::uint64_t index,
                         std::uint8_t* inputs, std::uint8_t* targets) const;
  // Sequence `index` of `count` evenly spaced ones of the held-out part.
  void held_out_sequence(std::size_t index, std::size_t count, std::uint8_t* inputs,
                         std::uint8_t* targets) const;

 private:
  void copy(std::size_t offset, std::uint8_t* inputs, std::uint8_t* targets) const;

  std::vector<std::uint8_t> bytes_;
  std::size_t context_;
  std::size_t training_size_;
};

}  // namespace gyre::train
