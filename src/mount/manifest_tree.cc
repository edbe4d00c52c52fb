#include "mount/manifest_tree.h"

#include <algorithm>

#include "base/strings.h"
#include "cas/tree_links.h"

namespace lathe::mount {

base::Result<std::unique_ptr<ManifestTree>> ManifestTree::create(cas::Tree tree) {
  for (const auto& entry : tree.entries) LATHE_TRY_VOID(cas::check_tree_path(entry.path));
  LATHE_TRY_VOID(cas::check_no_file_is_a_folder(tree));
  LATHE_TRY_VOID(cas::check_tree_links(tree));
  if (tree.entries.size() >= kNoEntry / 2) return base::fail(base::Code::too_large, "the tree has too many files");
  std::unique_ptr<ManifestTree> made(new ManifestTree(std::move(tree)));
  made->build();
  return made;
}

// Everything below a folder is one stretch of the sorted entries, so the path of the last one says which folders are
// there already.
void ManifestTree::build() {
  items_.reserve(tree_.entries.size() + 1);
  items_.emplace_back();
  std::vector<std::pair<std::string_view, std::uint32_t>> open;  // folders on the way to the last entry
  for (std::uint32_t i = 0; i < tree_.entries.size(); ++i) {
    auto parts = base::split(tree_.entries[i].path, '/');
    std::size_t depth = 0;
    while (depth < open.size() && depth + 1 < parts.size() && open[depth].first == parts[depth]) ++depth;
    open.resize(depth);
    for (; depth + 1 < parts.size(); ++depth)
      open.emplace_back(parts[depth], add(depth == 0 ? 0 : open[depth - 1].second, parts[depth], kNoEntry));
    add(depth == 0 ? 0 : open[depth - 1].second, parts.back(), i);
  }
  for (auto& item : items_) std::ranges::sort(item.held, {}, [this](std::uint32_t held) { return items_[held].name; });
}

std::uint32_t ManifestTree::add(std::uint32_t folder, std::string_view name, std::uint32_t entry) {
  auto item = static_cast<std::uint32_t>(items_.size());
  items_.push_back({name, entry, {}});
  items_[folder].held.push_back(item);
  return item;
}

Node ManifestTree::node(std::uint32_t item) const {
  Node out;
  out.inode = Inode{item} + 1;
  if (items_[item].entry == kNoEntry) return out;
  const auto& entry = tree_.entries[items_[item].entry];
  out.kind = entry.link_target.empty() ? Node::Kind::file : Node::Kind::link;
  out.executable = entry.executable;
  out.blob = {entry.digest, entry.size};
  out.link_target = entry.link_target;
  return out;
}

base::Result<const ManifestTree::Item*> ManifestTree::folder(Inode inode) const {
  if (inode == 0 || inode > items_.size() || items_[inode - 1].entry != kNoEntry)
    return base::fail(base::Code::not_found, "no such folder");
  return &items_[inode - 1];
}

base::Result<Node> ManifestTree::find(Inode inode, std::string_view name) {
  LATHE_TRY(const Item* here, folder(inode));
  auto found = std::ranges::lower_bound(here->held, name, {}, [this](std::uint32_t held) { return items_[held].name; });
  if (found == here->held.end() || items_[*found].name != name)
    return base::fail(base::Code::not_found, "no such name");
  return node(*found);
}

base::Result<Node> ManifestTree::get(Inode inode) {
  if (inode == 0 || inode > items_.size()) return base::fail(base::Code::not_found, "no such inode");
  return node(static_cast<std::uint32_t>(inode - 1));
}

base::Result<void> ManifestTree::list(Inode inode, std::uint64_t from, const Visit& visit) {
  LATHE_TRY(const Item* here, folder(inode));
  for (std::uint64_t position = from; position < here->held.size(); ++position) {
    const auto item = here->held[position];
    if (!visit(position, std::string(items_[item].name), node(item))) break;
  }
  return {};
}

std::vector<cas::BlobInfo> ManifestTree::following(Inode file, std::size_t most) {
  std::vector<cas::BlobInfo> out;
  for (auto item = static_cast<std::uint32_t>(file); item < items_.size() && out.size() < most; ++item)
    if (auto next = node(item); next.kind == Node::Kind::file) out.push_back(next.blob);
  return out;
}

}  // namespace lathe::mount
