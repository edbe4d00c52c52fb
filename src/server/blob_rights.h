// BlobRights: which blobs a token that is limited to a workspace may read, and which it may name.
// Bytes are kept once for all workspaces, under their digest. So that a digest alone opens nothing, such a token reads
// only what its workspace names, and names only what its workspace names already or what was sent with a token of the
// workspace: whoever can send the bytes has them. A refusal reads as if the blob were not there. Tokens for all
// workspaces are not looked at; neither are the names that a runner gives, which hashes the files itself. Home thread.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "server/tree_members.h"

namespace lathe::server {

class BlobRights {
 public:
  explicit BlobRights(Core& core) : core_(core), members_(core) {}

  // Throw not_found. A request for a blob may name the tree that holds it (?tree=).
  rt::Task<void> require_blob(const net::Request& request, base::Digest blob);
  rt::Task<void> require_manifest(const net::Request& request, base::Digest tree);
  rt::Task<void> require_whole_tree(const net::Request& request, base::Digest tree);
  rt::Task<void> require_lock(const net::Request& request, base::Digest lock);

  // Throw invalid for a name that the caller may not give, with the words for what is not in the store.
  rt::Task<void> require_nameable(const net::Principal& principal, std::vector<base::Digest> blobs, std::string field);
  rt::Task<void> require_nameable_tree(const net::Principal& principal, base::Digest tree, std::string field);
  rt::Task<bool> may_name_tree(const net::Principal& principal, base::Digest tree);

  // Whether what is in the store is no news to the caller, so that it need not be sent again.
  static bool sees_all(const net::Principal& principal);
  // Those of the blobs that were sent with a token of the caller's workspace.
  rt::Task<std::unordered_set<base::Digest>> sent_among(const net::Principal& principal,
                                                        std::vector<base::Digest> blobs);
  // After the bytes are in the store.
  rt::Task<void> note_sent(const net::Principal& principal, std::vector<base::Digest> blobs);
  // The name of a resumable upload: the bytes that another workspace has sent so far prove nothing for this one.
  static base::Digest upload_place(const net::Principal& principal, const base::Digest& blob);

 private:
  void note_opened(const std::string& workspace, const base::Digest& tree);
  rt::Task<bool> is_named_tree(const net::Principal& principal, base::Digest tree);

  Core& core_;
  TreeMembers members_;
  // Trees that were read last, by workspace: clients of 0.1 do not say which tree a blob belongs to.
  std::map<std::string, std::deque<base::Digest>> opened_;
};

}  // namespace lathe::server
