#include "cli/event_stream.h"

#include <utility>

namespace lathe::cli {

void EventStream::feed(std::string_view bytes) {
  for (;;) {
    auto end = bytes.find('\n');
    partial_ += bytes.substr(0, end);
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
    auto text = std::exchange(partial_, {});
    if (text.ends_with('\r')) text.pop_back();
    line(text);
  }
}

void EventStream::line(std::string_view text) {
  if (text.empty()) {
    if (!current_.data.empty()) on_event_(current_);
    current_ = {};
    return;
  }
  auto colon = text.find(':');
  auto name = text.substr(0, colon);
  auto value = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") current_.id = value;
  if (name == "data") current_.data += (current_.data.empty() ? "" : "\n") + std::string(value);
}

}  // namespace lathe::cli
