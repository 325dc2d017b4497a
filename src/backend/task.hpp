// One piece of queued work: a move-only callable, kept inside the object when it is small, so that
// queueing a collective allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/status.hpp"

namespace gyre {

class Task {
 public:
  static constexpr std::size_t kInlineBytes = 112;

  Task() = default;
  // `work` is called once; it returns void or Result<void>.
  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, Task>) explicit Task(F&& work) {
    using Work = std::decay_t<F>;
    if constexpr (fits<Work>()) {
      ::new (static_cast<void*>(storage_)) Work(std::forward<F>(work));
      verbs_ = &kVerbs<Work>;
    } else {
      auto boxed = [owned = std::make_unique<Work>(std::forward<F>(work))] { return (*owned)(); };
      ::new (static_cast<void*>(storage_)) decltype(boxed)(std::move(boxed));
      verbs_ = &kVerbs<decltype(boxed)>;
    }
  }
  Task(Task&& other) noexcept { take(other); }
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Task() { reset(); }

  explicit operator bool() const { return verbs_ != nullptr; }
  Result<void> operator()() { return verbs_->run(storage_); }
  void reset() {
    if (verbs_ != nullptr) verbs_->destroy(storage_);
    verbs_ = nullptr;
  }

 private:
  struct Verbs {
    Result<void> (*run)(void*);
    void (*move)(void* to, void* from);  // also destroys `from`
    void (*destroy)(void*);
  };

  template <typename Work>
  static constexpr bool fits() {
    return sizeof(Work) <= kInlineBytes && alignof(Work) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<Work>;
  }
  template <typename Work>
  static Result<void> run_work(void* storage) {
    Work& work = *std::launder(static_cast<Work*>(storage));
    if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
      work();
      return {};
    } else {
      return work();
    }
  }
  template <typename Work>
  static void move_work(void* to, void* from) {
    Work* source = std::launder(static_cast<Work*>(from));
    ::new (to) Work(std::move(*source));
    source->~Work();
  }
  template <typename Work>
  static void destroy_work(void* storage) {
    std::launder(static_cast<Work*>(storage))->~Work();
  }
  template <typename Work>
  static constexpr Verbs kVerbs{run_work<Work>, move_work<Work>, destroy_work<Work>};

  void take(Task& other) noexcept {
    verbs_ = std::exchange(other.verbs_, nullptr);
    if (verbs_ != nullptr) verbs_->move(storage_, other.storage_);
  }

  const Verbs* verbs_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInlineBytes];
};

}  // namespace gyre
