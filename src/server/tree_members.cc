#include "server/tree_members.h"

#include <algorithm>

#include "server/trees.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {
constexpr std::size_t kMostFiles = 2'500'000;
}  // namespace

TreeMembers::Name TreeMembers::short_name(const base::Digest& digest) {
  Name name;
  std::copy_n(digest.bytes.begin(), name.size(), name.begin());
  return name;
}

Task<bool> TreeMembers::contains(base::Digest tree, base::Digest blob) {
  auto names = co_await names_of(tree);
  co_return names && std::binary_search(names->begin(), names->end(), short_name(blob));
}

Task<std::shared_ptr<const TreeMembers::Names>> TreeMembers::names_of(base::Digest tree) {
  for (;;) {
    if (auto known = by_tree_.find(tree); known != by_tree_.end()) {
      known_.splice(known_.begin(), known_, known->second);
      co_return known_.front().names;
    }
    if (!loading_.contains(tree)) break;
    co_await loaded_.changed(loaded_.version(), core_.scope.token());
  }
  loading_.insert(tree);
  std::shared_ptr<const Names> names;
  std::exception_ptr failed;
  try {
    auto manifest = co_await read_tree(core_, tree);
    auto made = std::make_shared<Names>();
    co_await core_.files.run(core_.home, [&] {
      made->reserve(manifest.entries.size());
      for (const auto& entry : manifest.entries)
        if (entry.link_target.empty()) made->push_back(short_name(entry.digest));
      std::ranges::sort(*made);
    });
    names = std::move(made);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) failed = std::current_exception();
  }
  loading_.erase(tree);
  loaded_.notify();
  if (failed) std::rethrow_exception(failed);
  if (names) keep(tree, names);
  co_return names;
}

void TreeMembers::keep(const base::Digest& tree, std::shared_ptr<const Names> names) {
  files_ += names->size();
  known_.push_front({tree, std::move(names)});
  by_tree_[tree] = known_.begin();
  while (files_ > kMostFiles && known_.size() > 1) {
    files_ -= known_.back().names->size();
    by_tree_.erase(known_.back().tree);
    known_.pop_back();
  }
}

}  // namespace lathe::server
