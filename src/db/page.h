// One page of a list: the items and, when there are more, the cursor of the next page.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lathe::db {

template <class T>
struct Page {
  std::vector<T> items;
  std::optional<std::string> next;
};

// Lists fetch one item more than asked for; this drops it and says where to go on.
template <class T, class MakeCursor>
Page<T> make_page(std::vector<T> items, int limit, MakeCursor make_cursor_of) {
  Page<T> page{std::move(items), std::nullopt};
  if (page.items.size() > static_cast<std::size_t>(limit)) {
    page.items.resize(limit);
    page.next = make_cursor_of(page.items.back());
  }
  return page;
}

}  // namespace lathe::db
