#include "cli/table.h"

#include "base/strings.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kCellLimit = 400;

// Columns of a terminal, nearly: code points. Wide East Asian characters are counted as one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

void append_row(std::string& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size()) line.append(widths[i] - width_of(cells[i]) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> safe{header};
  for (const auto& row : rows) {
    auto& cells = safe.emplace_back();
    for (const auto& cell : row) cells.push_back(cell.empty() ? "-" : base::printable(cell, kCellLimit));
  }
  std::vector<std::size_t> widths(header.size(), 0);
  for (const auto& row : safe)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string out;
  for (const auto& row : safe) append_row(out, row, widths);
  return out;
}

std::string render_fields(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields)
    if (!value.empty()) width = std::max(width, width_of(name));
  std::string out;
  for (const auto& [name, value] : fields)
    if (!value.empty())
      out += fmt::format("{}:{}{}\n", name, std::string(width - width_of(name) + 1, ' '),
                         base::printable(value, kCellLimit));
  return out;
}

}  // namespace lathe::cli
