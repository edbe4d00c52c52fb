// MemoryBudget: how much memory the requests of all callers, and of each of them, may hold at once: bodies that are
// collected before they are understood, and answers that their client has not taken yet. What does not fit waits
// (its bytes stay in the client's kernel) or is refused; it never makes the process grow.
// Owned by HttpServer; home thread only. A Hold must not outlive its budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "rt/loop.h"
#include "rt/notifier.h"

namespace lathe::net {

class MemoryBudget {
 public:
  struct Limits {
    std::uint64_t total = 128u << 20;
    std::uint64_t per_caller = 32u << 20;  // more than any route's body
    int waiting_per_caller = 64;           // more than so many who wait for room are refused at once
    base::Duration patience = std::chrono::seconds(20);
  };
  MemoryBudget(rt::Loop& loop, Limits limits) : loop_(loop), limits_(limits), freed_(loop) {}

  // Memory that is accounted for; given back when destroyed.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { swap(other); }
    Hold& operator=(Hold&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Hold();
    std::uint64_t bytes() const { return bytes_; }

   private:
    friend class MemoryBudget;
    void swap(Hold& other) noexcept;
    MemoryBudget* budget_ = nullptr;
    std::string caller_;
    std::uint64_t bytes_ = 0;
  };

  // Waits until there is room. Throws unavailable when there is none for too long, cancelled by the token.
  rt::Task<Hold> take(std::string caller, std::uint64_t bytes, rt::CancelToken cancel);
  // Without waiting; nothing when there is no room.
  std::optional<Hold> try_take(const std::string& caller, std::uint64_t bytes);
  // A larger hold, without waiting: who waited while holding could wait for himself.
  bool try_grow(Hold& hold, std::uint64_t bytes);
  std::uint64_t held() const { return held_; }

 private:
  struct Caller {
    std::uint64_t held = 0;
    int waiting = 0;
  };
  bool fits(const std::string& caller, std::uint64_t more) const;
  void add(const std::string& caller, std::uint64_t bytes);
  void give_back(const std::string& caller, std::uint64_t bytes);
  void forget_if_idle(const std::string& caller);

  rt::Loop& loop_;
  const Limits limits_;
  std::uint64_t held_ = 0;
  std::unordered_map<std::string, Caller> callers_;  // only those who hold something or wait
  rt::Notifier freed_;
};

}  // namespace lathe::net
