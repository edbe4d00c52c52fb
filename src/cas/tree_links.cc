#include "cas/tree_links.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"

namespace lathe::cas {
namespace {

constexpr int kMaxHops = 40;  // the kernel's own limit for one path

using Links = std::unordered_map<std::string_view, std::string_view>;

void push_parts(std::vector<std::string_view>& pending, std::string_view path) {
  auto parts = base::split(path, '/');
  pending.insert(pending.end(), parts.rbegin(), parts.rend());  // the next part is at the back
}

// Whether following `link` ever steps above the root.
bool leaves(const Links& links, std::string_view path, std::string_view target) {
  std::string here;  // the folder reached so far, without a slash at its end
  if (auto slash = path.rfind('/'); slash != std::string_view::npos) here = path.substr(0, slash);
  std::vector<std::string_view> pending;
  if (target.starts_with('/')) return true;
  push_parts(pending, target);
  for (int hops = 0; !pending.empty() && hops < kMaxHops;) {
    auto part = pending.back();
    pending.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (here.empty()) return true;
      auto slash = here.rfind('/');
      here.resize(slash == std::string::npos ? 0 : slash);
      continue;
    }
    auto next = here.empty() ? std::string(part) : fmt::format("{}/{}", here, part);
    auto link = links.find(next);
    if (link == links.end()) {
      here = std::move(next);
      continue;
    }
    if (link->second.starts_with('/')) return true;
    ++hops;
    push_parts(pending, link->second);
  }
  return false;
}

}  // namespace

base::Result<void> check_tree_links(const Tree& tree) {
  Links links;
  for (const auto& entry : tree.entries)
    if (!entry.link_target.empty()) links.emplace(entry.path, entry.link_target);
  for (const auto& [path, target] : links) {
    if (target.size() > 4095 || target.find('\0') != std::string_view::npos || !base::is_valid_utf8(target))
      return base::fail(base::Code::invalid, "the link '{}' has a target that cannot be kept", base::printable(path));
    if (leaves(links, path, target))
      return base::fail(
          base::Error(base::Code::invalid, fmt::format("the symbolic link '{}' points outside the folder, to '{}'",
                                                       base::printable(path), base::printable(target)))
              .hint("make it a relative link to something inside, or list it in the ignore file")
              .field("path"));
  }
  return {};
}

base::Result<void> check_no_file_is_a_folder(const Tree& tree) {
  auto has_file = [&](std::string_view path) {
    return std::ranges::binary_search(tree.entries, path, std::less<>{},
                                      [](const TreeEntry& e) -> std::string_view { return e.path; });
  };
  std::string_view checked;  // folder of the entry before: siblings share the answer
  for (const auto& entry : tree.entries) {
    std::string_view path = entry.path;
    auto folder = path.substr(0, std::max<std::size_t>(path.rfind('/') + 1, 1) - 1);
    if (folder == checked) continue;
    checked = folder;
    for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
      if (has_file(path.substr(0, slash)))
        return base::fail(base::Code::corrupt, "'{}' is both a file and a folder in a tree",
                          base::printable(path.substr(0, slash)));
  }
  return {};
}

}  // namespace lathe::cas
