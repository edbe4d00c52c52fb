// Parser of server-sent events: bytes in, whole events out. Pieces may end anywhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lathe::cli {

class EventStream {
 public:
  struct Event {
    std::string id, data;
  };
  using OnEvent = std::function<void(const Event&)>;
  explicit EventStream(OnEvent on_event) : on_event_(std::move(on_event)) {}

  void feed(std::string_view bytes);

 private:
  void line(std::string_view text);
  OnEvent on_event_;
  std::string partial_;
  Event current_;
};

}  // namespace lathe::cli
