#include "cas/tree_links.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"

namespace lathe::cas {
namespace {

constexpr int kMaxHops = 40;  // the kernel's own limit for one path
constexpr std::size_t kMaxReached = 8192;
constexpr std::size_t kMaxLookedAt = std::size_t{1} << 30;

using Links = std::unordered_map<std::string_view, std::string_view>;

void push_parts(std::vector<std::string_view>& pending, std::string_view path) {
  auto parts = base::split(path, '/');
  pending.insert(pending.end(), parts.rbegin(), parts.rend());  // the next part is at the back
}

enum class Way { inside, outside, endless };

// Follows links one after another. All of them together may look at so many bytes of paths: more than any folder needs,
// and less than what a few thousand links that lead through one another could ask for.
class Walker {
 public:
  explicit Walker(const Links& links) : links_(links) {}

  // Whether following the link ever steps above the root.
  Way follow(std::string_view path, std::string_view target) {
    if (target.starts_with('/')) return Way::outside;
    const auto slash = path.rfind('/');
    here_ = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    pending_.clear();
    push_parts(pending_, target);
    hops_ = 0;
    while (!pending_.empty() && hops_ < kMaxHops) {
      auto part = pending_.back();
      pending_.pop_back();
      if (auto way = step(part); way != Way::inside) return way;
    }
    return Way::inside;
  }

 private:
  Way step(std::string_view part) {
    if (part.empty() || part == ".") return Way::inside;
    const auto before = part == ".." ? here_.rfind('/') : here_.size();
    if (part == "..") {
      if (here_.empty()) return Way::outside;
      here_.resize(before == std::string::npos ? 0 : before);
      return Way::inside;
    }
    if (!here_.empty()) here_ += '/';
    here_ += part;
    looked_at_ += here_.size();
    if (here_.size() > kMaxReached || looked_at_ > kMaxLookedAt) return Way::endless;
    auto link = links_.find(here_);
    if (link == links_.end()) return Way::inside;
    here_.resize(before);
    if (link->second.starts_with('/')) return Way::outside;
    ++hops_;
    push_parts(pending_, link->second);
    return Way::inside;
  }

  const Links& links_;
  std::string here_;  // the folder reached so far, without a slash at its end
  std::vector<std::string_view> pending_;
  std::size_t looked_at_ = 0;
  int hops_ = 0;
};

base::Result<void> check_target(std::string_view path, std::string_view target) {
  if (target.size() <= 4095 && target.find('\0') == std::string_view::npos && base::is_valid_utf8(target) &&
      static_cast<std::size_t>(std::ranges::count(target, '/')) < kMaxPathParts)
    return {};
  return base::fail(base::Code::invalid, "the link '{}' has a target that cannot be kept", base::printable(path));
}

}  // namespace

base::Result<void> check_tree_links(const Tree& tree) {
  Links links;
  for (const auto& entry : tree.entries)
    if (!entry.link_target.empty()) links.emplace(entry.path, entry.link_target);
  for (const auto& [path, target] : links) LATHE_TRY_VOID(check_target(path, target));
  Walker walker(links);
  for (const auto& [path, target] : links) {
    auto way = walker.follow(path, target);
    if (way == Way::endless)
      return base::fail(
          base::Error(base::Code::invalid,
                      fmt::format("the symbolic link '{}' leads too far through others", base::printable(path)))
              .hint("make it a link to what it leads to")
              .field("path"));
    if (way == Way::outside)
      return base::fail(
          base::Error(base::Code::invalid, fmt::format("the symbolic link '{}' points outside the folder, to '{}'",
                                                       base::printable(path), base::printable(target)))
              .hint("make it a relative link to something inside, or list it in the ignore file")
              .field("path"));
  }
  return {};
}

base::Result<void> check_no_file_is_a_folder(const Tree& tree) {
  // Entries with a common beginning follow one another, so the paths that the present one begins with form a stack. Of
  // these only the last is new to it: how the present one goes on after the others was checked when the last came.
  std::vector<std::string_view> beginnings;
  for (const auto& entry : tree.entries) {
    std::string_view path = entry.path;
    while (!beginnings.empty() && !path.starts_with(beginnings.back())) beginnings.pop_back();
    if (!beginnings.empty() && path.size() > beginnings.back().size() && path[beginnings.back().size()] == '/')
      return base::fail(base::Code::corrupt, "'{}' is both a file and a folder in a tree",
                        base::printable(beginnings.back()));
    beginnings.push_back(path);
  }
  return {};
}

}  // namespace lathe::cas
