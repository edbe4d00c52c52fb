// Turns: a fixed number of places for work of one kind, handed out on the home thread. A Turn gives its place back
// however its holder ends, also by an exception that nobody expected.
#pragma once

#include <functional>
#include <utility>

#include "rt/notifier.h"

namespace lathe::server {

class Turns {
 public:
  Turns(rt::Executor& home, int count) : free_(count), changed_(home) {}
  Turns(const Turns&) = delete;

  class Turn {
   public:
    explicit Turn(Turns& owner) : owner_(&owner) { --owner_->free_; }
    Turn(Turn&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (!owner_) return;
      ++owner_->free_;
      owner_->changed_.notify();
    }

   private:
    Turns* owner_;
  };

  // Waits for a place. Throws cancelled when the token fires, or when `unwanted` is true at a look_again().
  rt::Task<Turn> take(rt::CancelToken cancel, std::function<bool()> unwanted);
  // Whoever waits asks again whether it is still wanted.
  void look_again() { changed_.notify(); }
  int free() const { return free_; }

 private:
  int free_;
  rt::Notifier changed_;
};

}  // namespace lathe::server
