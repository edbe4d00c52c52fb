#include "server/blob_rights.h"

#include "db/blob_rights.h"
#include "server/trees.h"

namespace lathe::server {

using base::Code;
using base::Digest;
using base::Error;
using net::Principal;
using net::Request;
using rt::Task;

namespace {

constexpr std::size_t kAtOnce = 2'000;  // rows of one transaction
constexpr std::size_t kMostOpened = 16;

bool is_limited(const Principal& principal) { return !principal.workspace.empty(); }

Error not_there(std::string_view what, const Digest& digest) {
  return Error(Code::not_found, fmt::format("there is no {} {}", what, digest.hex())).field("digest");
}

std::optional<Digest> named_tree(const Request& request) {
  auto text = request.query_value("tree");
  if (!text) return std::nullopt;
  auto tree = Digest::parse(*text);
  if (!tree) throw std::move(tree.error()).field("tree");
  return *tree;
}

}  // namespace

bool BlobRights::sees_all(const Principal& principal) {
  return !is_limited(principal) || principal.role == net::Role::runner;
}

Digest BlobRights::upload_place(const Principal& principal, const Digest& blob) {
  if (sees_all(principal)) return blob;
  return base::sha256(fmt::format("{}\n{}", principal.workspace, blob.hex()));
}

void BlobRights::note_opened(const std::string& workspace, const Digest& tree) {
  auto& trees = opened_[workspace];
  std::erase(trees, tree);
  trees.push_front(tree);
  if (trees.size() > kMostOpened) trees.pop_back();
}

Task<bool> BlobRights::is_named_tree(const Principal& principal, Digest tree) {
  co_return co_await core_.database.read([&](db::Connection& connection) {
    return db::blob_rights::names_tree(connection, principal.workspace, tree);
  });
}

Task<void> BlobRights::require_blob(const Request& request, Digest blob) {
  const auto& principal = request.principal;
  const auto tree = named_tree(request);
  if (!is_limited(principal)) co_return;
  if (tree) {
    const bool is_named = co_await is_named_tree(principal, *tree);
    const bool is_member = is_named && co_await members_.contains(*tree, blob);
    if (is_member) co_return;
    throw not_there("blob", blob);
  }
  const auto& workspace = principal.workspace;
  const auto opened = opened_[workspace];
  std::vector<Digest> trees;
  const bool is_named = co_await core_.database.read([&](db::Connection& connection) {
    if (!principal.run_id.empty()) {
      trees = db::blob_rights::trees_of_run(connection, principal.run_id);
      if (db::blob_rights::needs_for_environment(connection, principal.run_id, blob)) return true;
    }
    for (const auto& each : opened)
      if (db::blob_rights::names_tree(connection, workspace, each)) trees.push_back(each);
    return db::blob_rights::was_sent(connection, workspace, blob) ||
           db::blob_rights::names_file(connection, workspace, blob) ||
           db::blob_rights::names_tree(connection, workspace, blob);
  });
  if (is_named) co_return;
  for (const auto& each : trees)
    if (co_await members_.contains(each, blob)) co_return;
  throw not_there("blob", blob).hint("say which tree of the workspace holds it: ?tree=DIGEST");
}

Task<void> BlobRights::require_manifest(const Request& request, Digest tree) {
  const auto& principal = request.principal;
  if (!is_limited(principal)) co_return;
  bool is_named = false;
  const bool is_sent = co_await core_.database.read([&](db::Connection& connection) {
    is_named = db::blob_rights::names_tree(connection, principal.workspace, tree);
    return !is_named && db::blob_rights::was_sent(connection, principal.workspace, tree);
  });
  if (is_named) note_opened(principal.workspace, tree);
  // The manifest that a client has sent is its own; what it lists is not, until it is named.
  if (!is_named && !is_sent) throw not_there("tree", tree);
}

Task<void> BlobRights::require_whole_tree(const Request& request, Digest tree) {
  if (!is_limited(request.principal)) co_return;
  const bool is_named = co_await is_named_tree(request.principal, tree);
  if (!is_named) throw not_there("tree", tree);
}

Task<void> BlobRights::require_lock(const Request& request, Digest lock) {
  const auto& workspace = request.principal.workspace;
  if (!is_limited(request.principal)) co_return;
  const bool is_named = co_await core_.database.read(
      [&](db::Connection& connection) { return db::blob_rights::names_lock(connection, workspace, lock); });
  if (!is_named) throw not_there("lock", lock);
}

Task<std::unordered_set<Digest>> BlobRights::sent_among(const Principal& principal, std::vector<Digest> blobs) {
  std::unordered_set<Digest> sent;
  for (std::size_t first = 0; first < blobs.size(); first += kAtOnce) {
    const auto last = std::min(blobs.size(), first + kAtOnce);
    co_await core_.database.read([&](db::Connection& connection) {
      for (auto i = first; i < last; ++i)
        if (db::blob_rights::was_sent(connection, principal.workspace, blobs[i])) sent.insert(blobs[i]);
    });
  }
  co_return sent;
}

Task<void> BlobRights::note_sent(const Principal& principal, std::vector<Digest> blobs) {
  if (sees_all(principal)) co_return;
  const auto now = core_.clock.utc();
  for (std::size_t first = 0; first < blobs.size(); first += kAtOnce) {
    const std::span some(blobs.data() + first, std::min(kAtOnce, blobs.size() - first));
    co_await core_.database.write([&](db::Connection& connection) {
      db::blob_rights::note_sent(connection, principal.workspace, some, now);
    });
  }
}

Task<void> BlobRights::require_nameable(const Principal& principal, std::vector<Digest> blobs, std::string field) {
  if (sees_all(principal)) co_return;
  const auto sent = co_await sent_among(principal, blobs);
  for (const auto& blob : blobs)
    if (!sent.contains(blob))
      throw Error(Code::invalid, fmt::format("the blob {} is not in the store", blob.hex()))
          .field(field)
          .hint("send it first: POST /api/v1/blobs/missing, then /api/v1/blobs/pack");
}

Task<bool> BlobRights::may_name_tree(const Principal& principal, Digest tree) {
  if (sees_all(principal)) co_return true;
  const bool is_named = co_await is_named_tree(principal, tree);
  if (is_named) co_return true;
  std::vector<Digest> blobs(1, tree);
  const auto manifest = co_await sent_among(principal, blobs);
  if (manifest.empty()) co_return false;
  blobs.clear();
  for (const auto& blob : distinct_blobs(co_await read_tree(core_, tree))) blobs.push_back(blob.digest);
  const auto sent = co_await sent_among(principal, blobs);
  co_return sent.size() == blobs.size();
}

Task<void> BlobRights::require_nameable_tree(const Principal& principal, Digest tree, std::string field) {
  const bool may = co_await may_name_tree(principal, tree);
  if (may) co_return;
  throw Error(Code::invalid, fmt::format("the tree {} is not in the store, or not all of it", tree.hex()))
      .field(field)
      .hint("ask POST /api/v1/blobs/missing and send what is missing first");
}

}  // namespace lathe::server
