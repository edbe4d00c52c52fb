// InputBuffer: bytes received and not yet parsed. Starts small, grows to its limit when a peer sends that much, and
// gives the memory back when it is empty, so that thousands of idle connections stay cheap.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace lathe::net {

class InputBuffer {
 public:
  explicit InputBuffer(std::size_t limit) : limit_(std::max(limit, kSmall)) {}

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  bool is_full() const { return end_ - begin_ == limit_; }

  // Space to receive into; empty only when full. Valid until the next call.
  std::span<char> space(bool want_large) {
    if (end_ == capacity_ || (want_large && capacity_ < limit_)) make_room(want_large);
    return {data_.get() + end_, capacity_ - end_};
  }
  void received(std::size_t count) { end_ += count; }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void release_if_empty() {
    if (!empty() || capacity_ <= kSmall) return;
    data_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr std::size_t kSmall = 4096;

  void make_room(bool want_large) {
    const std::size_t held = end_ - begin_;
    std::size_t wanted = capacity_;
    if (want_large)
      wanted = limit_;
    else if (held == capacity_)
      wanted = std::min(limit_, std::max(kSmall, capacity_ * 4));
    if (wanted != capacity_) {
      auto larger = std::make_unique_for_overwrite<char[]>(wanted);
      if (held > 0) std::memcpy(larger.get(), data_.get() + begin_, held);
      data_ = std::move(larger);
      capacity_ = wanted;
    } else if (begin_ > 0) {
      std::memmove(data_.get(), data_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }

  std::size_t limit_;
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace lathe::net
