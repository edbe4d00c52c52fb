#include "envs/inventory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "sys/fd.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

struct Folder {
  explicit Folder(int fd) : handle(::fdopendir(fd)) {}
  ~Folder() {
    if (handle) ::closedir(handle);
  }
  DIR* handle;
};

base::Result<void> walk(int parent, const char* name, const std::string& path, Inventory& out) {
  int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return base::fail(base::errno_error(errno, "listing " + path));
  Folder folder(fd);
  while (const dirent* entry = ::readdir(folder.handle)) {
    const std::string_view here = entry->d_name;
    if (here == "." || here == ".." || here == "__pycache__" || (path.empty() && here.starts_with("lathe-"))) continue;
    std::string full = path.empty() ? std::string(here) : path + "/" + std::string(here);
    if (entry->d_type == DT_DIR) {
      LATHE_TRY_VOID(walk(fd, entry->d_name, full, out));
      continue;
    }
    struct stat status{};
    if (::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      return base::fail(base::errno_error(errno, "looking at " + full));
    out.files.emplace(std::move(full), S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0);
  }
  return {};
}

}  // namespace

std::uint64_t Inventory::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [path, size] : files) sum += size;
  return sum;
}

base::Result<Inventory> take_inventory(const fs::path& prefix) {
  Inventory out;
  LATHE_TRY_VOID(walk(AT_FDCWD, prefix.c_str(), "", out));
  return out;
}

std::string write_inventory(const Inventory& inventory) {
  std::string out;
  for (const auto& [path, size] : inventory.files) out += fmt::format("{} {}\n", size, path);
  return out;
}

base::Result<Inventory> parse_inventory(std::string_view text) {
  Inventory out;
  for (auto line : base::split(text, '\n')) {
    if (line.empty()) continue;
    auto space = line.find(' ');
    auto size = base::parse_u64(line.substr(0, space));
    if (!size || space == std::string_view::npos)
      return base::fail(base::Code::corrupt, "the list of files is damaged");
    out.files.emplace_hint(out.files.end(), std::string(line.substr(space + 1)), *size);
  }
  return out;
}

base::Result<std::vector<std::string>> damaged_files(const fs::path& prefix, const Inventory& wanted) {
  LATHE_TRY(auto found, take_inventory(prefix));
  std::vector<std::string> out;
  auto at = found.files.begin();
  for (const auto& [path, size] : wanted.files) {
    while (at != found.files.end() && at->first < path) ++at;
    if (at == found.files.end() || at->first != path || at->second != size) out.push_back(path);
  }
  return out;
}

}  // namespace lathe::envs
