// The calling thread's group: what ncclGroupStart opens and the outermost ncclGroupEnd issues.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "abi/export.hpp"
#include "abi/handle.hpp"
#include "base/status.hpp"
#include "comm/issue.hpp"

namespace gyre::abi {

// Issues `call` on `comm` and `stream`, now or at the end of the group.
Result<void> submit(const Borrowed& comm, const Call& call, void* stream);

// A communicator to be opened: now (in the background if it is non-blocking), or at the end of the
// group, where all of a group's openings run side by side.
struct Opening {
  std::shared_ptr<Communicator> comm;
  std::function<Result<void>()> open;
  // Called instead where there is no thread for it; returns the error.
  std::function<Result<void>(const Error&)> refuse;
  // Called when a blocking opening failed: takes the handle back.
  std::function<void()> discard;
  // Called once: when it succeeded, or when a non-blocking one was started; in a group at once.
  std::function<void()> deliver;
};
Result<void> submit(Opening opening);

// What derives a communicator from a parent (split): collective over the parent's ranks. Outside a
// group it runs now, or in the background if the parent is non-blocking.
struct Derivation {
  std::shared_ptr<Communicator> parent;
  std::function<Result<void>()> run;
};
Result<void> submit_derivation(Derivation derivation);

void group_start();
Result<void> group_end();
// Drops what the group holds and says how many seconds it would have taken: the calls of a
// communicator one after another, communicators side by side. No value for an inner group. An error
// outside a group, and where a call of the group was one.
Result<std::optional<double>> group_simulate();
// Keeps the error of a call for the group's end, if there is a group.
void group_note(const Error& error);
// The same for a whole result, which it passes on; "in progress" is no error.
inline Result<void> noted(Result<void> result) {
  if (!result && result.status() != Status::in_progress) group_note(result.error());
  return result;
}

}  // namespace gyre::abi
