// Rows as an aligned text table, and JSON answers as such tables. A list command is a path and its columns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::cli {

// Columns two spaces apart, the header first, no trailing blanks. Cells are made safe for a terminal.
std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
// "key: value" lines, aligned; pairs with an empty value are left out.
std::string render_fields(const std::vector<std::pair<std::string, std::string>>& fields);

enum class Shown { text, bytes, time, list };
struct Column {
  std::string_view title;
  std::string_view pointer;  // JSON pointer into an item
  Shown shown = Shown::text;
};

}  // namespace lathe::cli
