#include "server/tree_members.h"

#include <unistd.h>

#include <algorithm>

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr std::size_t kMostFiles = 2'500'000;
constexpr std::size_t kPiece = 1u << 20;
constexpr std::size_t kHexDigits = 64;

// Calls `visit` with each whole line; a line is far shorter than a piece.
template <class Visit>
void for_each_line(const cas::BlobFile& file, Visit visit) {
  std::string buffer(kPiece, '\0');
  std::size_t held = 0;
  for (off_t at = 0;;) {
    const auto got = ::pread(file.fd(), buffer.data() + held, buffer.size() - held, at);
    if (got < 0) throw base::errno_error(errno, "reading a manifest");
    if (got == 0) return;
    at += got;
    std::string_view rest(buffer.data(), held + static_cast<std::size_t>(got));
    for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (rest.size() == buffer.size()) throw Error(Code::corrupt, "a line of a manifest has no end");
    held = rest.size();
    std::copy(rest.begin(), rest.end(), buffer.begin());
  }
}

}  // namespace

// "f DIGEST SIZE PATH" and "x …" (docs/formats/tree.md). It was decoded whole when it was named; here only the
// digests count, and a large manifest is not held in memory.
TreeMembers::Names TreeMembers::read_names(const cas::BlobFile& manifest) {
  Names names;
  for_each_line(manifest, [&](std::string_view line) {
    if (!line.starts_with("f ") && !line.starts_with("x ")) return;
    names.push_back(short_name(base::value_or_throw(base::Digest::parse(line.substr(2, kHexDigits)))));
  });
  std::ranges::sort(names);
  return names;
}

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
    auto manifest = co_await core_.store_work.open_blob(tree);
    names = co_await core_.files.run(core_.home, [&] { return std::make_shared<const Names>(read_names(manifest)); });
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
