// Authority: who a bearer token belongs to. A user's token is looked up once and then kept in memory by its hash; both
// tokens of live attempts are known from their placement; that of an ended attempt's runner is looked up, so that a late
// runner hears "fenced" and not "who?".
// The runner's token of an attempt is made of a key that comes from the admin's token: a server that was killed between
// placing a run and starting its runner can start that runner later. The script's is made of the runner's.
// Home thread only. The tokens themselves are never kept, only their SHA-256.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "db/tokens.h"
#include "model/run.h"
#include "net/http.h"
#include "net/rate_limiter.h"
#include "server/core.h"

namespace lathe::server {

// The token of the state folder's file; no other token may have this name.
inline constexpr std::string_view kAdminTokenName = "admin";

// The hashes of an attempt's two tokens.
struct AttemptHashes {
  base::Digest runner;
  std::optional<base::Digest> script;  // nothing where it cannot be known
  bool one_for_both = false;           // of a release whose runners gave their own token to the script
};
// Of the token that the runner is started with.
AttemptHashes hashes_of(std::string_view runner_token);

struct NewToken {
  std::string name;
  net::Role role = net::Role::viewer;
  std::string workspace;  // empty: all
  std::optional<base::UtcTime> expires;
};

class Authority {
 public:
  explicit Authority(Core& core)
      : core_(core),
        bad_logins_(core.site.limits.failed_logins_per_second, 4 * core.site.limits.failed_logins_per_second) {}

  // Makes the token of the state folder's file the admin's, also one that was so before.
  rt::Task<void> register_admin(const std::string& admin_token);
  // Told of each user's token that was revoked, after the fact is on disk, or has expired: what it still has open must
  // end.
  void on_over(std::function<void(std::int64_t token_id)> listener) { on_over_ = std::move(listener); }
  // For net::HttpServer.
  rt::Task<net::Principal> authenticate(const net::Request& request);

  struct Created {
    db::tokens::Token row;
    std::string secret;  // shown once
  };
  rt::Task<Created> create(NewToken token, Caller caller);
  rt::Task<void> revoke(std::int64_t id, Caller caller);

  // The same for the same attempt, until the admin's token is replaced. Made from id and
  // sequence: a sequence may be given again after a restore, an id after a delete, but never both. Any thread, after
  // register_admin().
  std::string attempt_token(const std::string& run_id, std::int64_t sequence, int attempt) const;
  // Of an attempt that was placed by an earlier server process; `script` is what the database knows.
  AttemptHashes recovered_hashes(const model::RunRecord& run, const model::AttemptRecord& attempt,
                                 std::optional<base::Digest> script) const;
  void attempt_started(const AttemptHashes& hashes, std::string run_id, int attempt, std::string workspace);
  void attempt_ended(const base::Digest& runner_hash);

 private:
  struct UserToken {
    net::Principal principal;
    std::optional<base::UtcTime> expires;
    base::UtcTime last_used;
  };
  rt::Task<net::Principal> look_up(base::Digest hash, std::string path);
  rt::Task<net::Principal> find_user(base::Digest hash);
  rt::Task<net::Principal> find_ended_attempt(base::Digest hash);
  net::Principal use(UserToken& token);
  // From its first use on, until it has expired or was revoked.
  rt::Task<void> wait_for_expiry(base::Digest hash);

  Core& core_;
  net::RateLimiter bad_logins_;    // by address
  std::uint64_t revocations_ = 0;  // a look-up that a revocation overtook is made again
  std::function<void(std::int64_t)> on_over_;
  std::string attempt_key_;
  std::unordered_map<base::Digest, UserToken> users_;
  std::unordered_map<base::Digest, net::Principal> attempts_;
  std::unordered_map<base::Digest, base::Digest> scripts_;  // of live attempts, by the hash of the runner's
};

std::string_view role_name(net::Role role);
// Of the roles that a user's token can have; else nothing.
std::optional<net::Role> role_from_name(std::string_view name);

}  // namespace lathe::server
