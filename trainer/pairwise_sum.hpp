// Adds vectors in a fixed binary tree: ((v0 + v1) + (v2 + v3)) + ...
//
// Floating-point sums depend on how they are grouped. In this tree, 2^k neighbours always form one
// subtree, so a rank that adds its own 2^k vectors computes exactly a subtree of the tree over all
// ranks' vectors; the sum over ranks, taken pairwise too, completes it. That makes the sum the
// same, bit for bit, for every number of ranks that is a power of two.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace gyre::train {

class PairwiseSum {
 public:
  explicit PairwiseSum(std::size_t size) : size_(size) {}

  // Forgets all vectors; keeps the memory.
  void clear() { count_ = 0; }
  // Adds the next vector, which becomes scratch. Where it completes subtrees, they are added up.
  void add(std::span<float> vector) {
    std::size_t level = 0;
    for (std::size_t full = count_; full % 2 == 1; full /= 2, ++level) {
      for (std::size_t i = 0; i < size_; ++i) vector[i] = levels_[level][i] + vector[i];
    }
    if (level >= levels_.size()) levels_.resize(level + 1);
    levels_[level].assign(vector.begin(), vector.end());
    ++count_;
  }
  // The sum, once a power of two of vectors was added.
  std::span<const float> sum() const { return levels_[top()]; }

 private:
  std::size_t top() const {
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= count_) ++level;
    return level;
  }

  std::size_t size_;
  std::size_t count_ = 0;
  std::vector<std::vector<float>> levels_;  // [k]: the latest complete subtree of 2^k vectors
};

}  // namespace gyre::train
