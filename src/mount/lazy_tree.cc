#include "mount/lazy_tree.h"

namespace lathe::mount {
namespace {

// Behind every path of a folder: no name has a character after this one.
constexpr std::string_view kLastCharacter = "\xF4\x8F\xBF\xBF";

}  // namespace

LazyTree::LazyTree(NameSource& source, std::string folder) : source_(source) {
  Item root;
  root.node.inode = kRoot;
  root.prefix = folder.empty() ? "" : std::move(folder) + "/";
  items_.push_back(std::move(root));
}

base::Result<void> LazyTree::check_folder(Inode inode) {
  if (inode == 0 || inode > items_.size() || item(inode).node.kind != Node::Kind::folder)
    return base::fail(base::Code::not_found, "no such folder");
  return {};
}

Inode LazyTree::note(Inode folder, std::string_view name, const NamedBlob* file) {
  if (auto known = item(folder).known.find(name); known != item(folder).known.end()) return known->second;
  Item made;
  made.node.inode = items_.size() + 1;
  made.parent = folder;
  if (file) {
    made.node.kind = Node::Kind::file;
    made.node.blob = file->blob;
  } else {
    made.prefix = fmt::format("{}{}/", item(folder).prefix, name);
  }
  item(folder).known.emplace(name, made.node.inode);
  items_.push_back(std::move(made));
  return items_.size();
}

base::Result<Node> LazyTree::find(Inode folder, std::string_view name) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(check_folder(folder));
  if (auto known = item(folder).known.find(name); known != item(folder).known.end()) return item(known->second).node;
  if (item(folder).whole) return base::fail(base::Code::not_found, "no such name");
  const std::string path = item(folder).prefix + std::string(name);
  // The file itself comes before all that begins with its name.
  LATHE_TRY(NamePage file, source_.list(path, "", 1));
  if (!file.files.empty() && file.files[0].path == path) return item(note(folder, name, &file.files[0])).node;
  if (file.files.empty()) return base::fail(base::Code::not_found, "no such name");
  LATHE_TRY(NamePage inside, source_.list(path + "/", "", 1));
  if (inside.files.empty()) return base::fail(base::Code::not_found, "no such name");
  return item(note(folder, name, nullptr)).node;
}

base::Result<Node> LazyTree::get(Inode inode) {
  std::lock_guard lock(mutex_);
  if (inode == 0 || inode > items_.size()) return base::fail(base::Code::not_found, "no such inode");
  return item(inode).node;
}

base::Result<void> LazyTree::list_more(Inode folder) {
  const std::string prefix = item(folder).prefix;
  LATHE_TRY(NamePage page, source_.list(prefix, item(folder).after, kPage));
  for (const auto& file : page.files) {
    auto name = std::string_view(file.path).substr(prefix.size());
    const auto slash = name.find('/');
    const bool inside = slash != name.npos;
    name = name.substr(0, slash);
    item(folder).after = inside ? fmt::format("{}{}/{}", prefix, name, kLastCharacter) : file.path;
    if (!item(folder).listed.empty() && item(folder).listed.back().first == name) continue;
    const Inode inode = note(folder, name, inside ? nullptr : &file);
    item(folder).listed.emplace_back(name, inode);
  }
  item(folder).whole = !page.more;
  return {};
}

base::Result<void> LazyTree::list(Inode folder, std::uint64_t from, const Visit& visit) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(check_folder(folder));
  for (std::uint64_t position = from;; ++position) {
    while (position >= item(folder).listed.size() && !item(folder).whole) LATHE_TRY_VOID(list_more(folder));
    if (position >= item(folder).listed.size()) return {};
    const auto& [name, inode] = item(folder).listed[position];
    if (!visit(position, name, item(inode).node)) return {};
  }
}

std::vector<cas::BlobInfo> LazyTree::following(Inode file, std::size_t most) {
  std::lock_guard lock(mutex_);
  std::vector<cas::BlobInfo> out;
  for (Inode next = file + 1; next <= items_.size() && out.size() < most; ++next)
    if (item(next).parent == item(file).parent && item(next).node.kind == Node::Kind::file)
      out.push_back(item(next).node.blob);
  return out;
}

}  // namespace lathe::mount
