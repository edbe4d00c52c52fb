#include <algorithm>

#include "base/strings.h"
#include "envs/inventory.h"
#include "envs/spec.h"
#include "sys/small_file.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

struct Record {
  std::string path;  // below the prefix
  std::optional<std::uint64_t> size;
};

// One line of a RECORD: path,hash,size; a path with a comma is quoted.
std::optional<Record> read_line(std::string_view line, const fs::path& base) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string path;
  if (line.starts_with('"')) {
    auto end = line.find("\",", 1);
    if (end == std::string_view::npos) return std::nullopt;
    path = line.substr(1, end - 1);
    line = line.substr(end + 1);
  } else {
    auto end = line.find(',');
    if (end == std::string_view::npos) return std::nullopt;
    path = line.substr(0, end);
    line = line.substr(end);
  }
  auto size = base::parse_u64(line.substr(line.rfind(',') + 1));
  return Record{(base / path).lexically_normal().string(), size};
}

// "lib/python3.6/site-packages/six-1.12.0.dist-info/RECORD" → "six".
std::string distribution_of(const fs::path& record) {
  std::string folder = record.parent_path().filename().string();
  return distribution_name(folder.substr(0, folder.find('-')));
}

template <class Take>
void each_record(const fs::path& prefix, const Inventory& inventory, Take take) {
  for (const auto& [path, size] : inventory.files) {
    const fs::path base = fs::path(path).parent_path().parent_path();
    // Some packages carry others inside of them, with records that no longer hold.
    if (!path.ends_with(".dist-info/RECORD") || base.filename() != "site-packages") continue;
    auto text = sys::read_small_file(prefix / path);
    if (!text) continue;
    const std::string name = distribution_of(path);
    for (auto line : base::split(*text, '\n'))
      if (auto record = read_line(line, base)) take(name, *record);
  }
}

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (std::ranges::find(list, name) == list.end()) list.push_back(name);
}

}  // namespace

std::vector<std::string> damaged_packages(const fs::path& prefix, const Inventory& found) {
  std::vector<std::string> out;
  each_record(prefix, found, [&](const std::string& name, const Record& record) {
    // Scripts and the RECORD itself are written anew for each environment, so that their size is not the recorded one.
    if (!record.size || record.path.starts_with("bin/") || record.path.ends_with(".dist-info/RECORD") ||
        record.path.find("__pycache__") != std::string::npos)
      return;
    auto file = found.files.find(record.path);
    if (file == found.files.end() || file->second != *record.size) add_once(out, name);
  });
  return out;
}

std::vector<std::string> owners_of(const fs::path& prefix, const Inventory& inventory,
                                   const std::vector<std::string>& files) {
  std::vector<std::string> out;
  each_record(prefix, inventory, [&](const std::string& name, const Record& record) {
    if (std::ranges::find(files, record.path) != files.end()) add_once(out, name);
  });
  return out;
}

}  // namespace lathe::envs
