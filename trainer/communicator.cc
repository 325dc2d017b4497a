#include "trainer/communicator.hpp"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>

namespace gyre::train {
namespace {

COMM_STREAM_T comm_stream(gyreStream_t stream) { return reinterpret_cast<COMM_STREAM_T>(stream); }

}  // namespace

Communicator::Communicator(const COMM_ID& id, int rank, int world, SumOrder order) {
  require(COMM_INIT(&all_, world, id, rank), nullptr);
  if (order != SumOrder::pairwise) return;
  for (int bit = 1; bit < world; bit *= 2) {
    COMM_T pair = nullptr;
    // The two ranks that differ in this bit alone share the color: the number without the bit.
    require(COMM_SPLIT(all_, rank & ~bit, rank, &pair, nullptr), all_);
    pairs_.push_back(pair);
  }
}

Communicator::~Communicator() {
  const bool abort = failed_ || std::uncaught_exceptions() > 0;
  for (const COMM_T pair : pairs_) abort ? COMM_ABORT(pair) : COMM_DESTROY(pair);
  if (all_ != nullptr) abort ? COMM_ABORT(all_) : COMM_DESTROY(all_);
}

void Communicator::require(COMM_RESULT_T result, COMM_T comm) {
  if (result == COMM_SUCCESS) return;
  failed_ = true;
  throw std::runtime_error(fmt::format("{}: {}", COMM_ERROR_STRING(result), COMM_LAST_ERROR(comm)));
}

void Communicator::enqueue(float* data, std::size_t count, gyreStream_t stream) {
  if (pairs_.empty()) {
    require(COMM_ALL_REDUCE(data, data, count, COMM_FLOAT, COMM_SUM, all_, comm_stream(stream)),
            all_);
  }
  for (const COMM_T pair : pairs_) {
    require(COMM_ALL_REDUCE(data, data, count, COMM_FLOAT, COMM_SUM, pair, comm_stream(stream)),
            pair);
  }
}

}  // namespace gyre::train
