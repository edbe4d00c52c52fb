#include "server/authority.h"

#include <array>

#include "base/check.h"
#include "base/log.h"
#include "base/strings.h"
#include "db/attempts.h"
#include "db/runs.h"
#include "db/workspaces.h"
#include "server/state_dir.h"
#include "wire/script_token.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr std::array<std::pair<net::Role, std::string_view>, 4> kRoles{{{net::Role::viewer, "viewer"},
                                                                        {net::Role::contributor, "contributor"},
                                                                        {net::Role::operator_, "operator"},
                                                                        {net::Role::admin, "admin"}}};
constexpr std::int64_t kLastUsedStepMicros = 60'000'000;
constexpr base::Duration kExpiryStep = std::chrono::hours(1);
constexpr base::Duration kLongestLoginDelay = std::chrono::seconds(5);

Error refused(std::string message) {
  return Error(Code::unauthorized, std::move(message))
      .hint("send 'Authorization: Bearer TOKEN'; the file 'token' in the state folder holds the admin's");
}

std::optional<std::string> bearer(const net::Request& request) {
  auto header = request.header("authorization");
  if (!header) return std::nullopt;
  constexpr std::string_view kScheme = "bearer ";
  if (header->size() <= kScheme.size() ||
      base::to_lower(std::string_view(*header).substr(0, kScheme.size())) != kScheme)
    throw refused("the Authorization header is not of the form 'Bearer TOKEN'");
  return header->substr(kScheme.size());
}

// HMAC-SHA-256 (RFC 2104) as 64 hex digits, for keys of up to 64 bytes.
std::string keyed_hash(std::string_view key, std::string_view bytes) {
  LATHE_CHECK(key.size() <= 64, "a key of {} bytes", key.size());
  std::string inner(64, '\x36'), outer(64, '\x5c');
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ key[i]);
    outer[i] = static_cast<char>(outer[i] ^ key[i]);
  }
  auto first = base::sha256(inner.append(bytes));
  return base::sha256(outer.append(reinterpret_cast<const char*>(first.bytes.data()), first.bytes.size())).hex();
}

net::Principal principal_of(const db::tokens::Token& row, net::Role role) {
  net::Principal principal;
  principal.role = role;
  principal.name = row.name;
  principal.token_id = row.id;
  principal.workspace = row.workspace;
  return principal;
}

net::Principal run_principal(net::Role role, std::string run_id, int attempt, std::string workspace) {
  net::Principal principal;
  principal.role = role;
  principal.name = "run " + run_id;
  principal.run_id = std::move(run_id);
  principal.attempt = attempt;
  principal.workspace = std::move(workspace);
  return principal;
}

}  // namespace

std::string_view role_name(net::Role role) {
  for (const auto& [value, name] : kRoles)
    if (value == role) return name;
  return role == net::Role::run ? "run" : role == net::Role::runner ? "runner" : "none";
}

std::optional<net::Role> role_from_name(std::string_view name) {
  for (const auto& [value, word] : kRoles)
    if (word == name) return value;
  return std::nullopt;
}

Task<void> Authority::register_admin(const std::string& admin_token) {
  auto hash = base::sha256(admin_token);
  attempt_key_ = base::sha256("attempt tokens\n" + admin_token).hex();  // not from `hash`, which the database holds
  auto now = core_.clock.utc();
  co_await core_.database.write([&](db::Connection& connection) {
    auto known = db::tokens::find_by_hash(connection, hash);
    if (known && known->name == kAdminTokenName && !known->revoked) return;
    // The file decides: a token file that was replaced makes the one before it worthless, and one that was put back is
    // good again. Else nobody would get in any more.
    for (const auto& row : db::tokens::list(connection))
      if (row.name == kAdminTokenName && !row.revoked) db::tokens::revoke(connection, row.id, now);
    if (known) {
      db::tokens::make_admin(connection, known->id, kAdminTokenName);
      audit(connection, {"server", 0, "start"}, now, "token.restore", kAdminTokenName, known->name);
      return;
    }
    db::tokens::Token row;
    row.name = kAdminTokenName;
    row.role = "admin";
    row.created = now;
    db::tokens::insert(connection, row, hash);
    audit(connection, {"server", 0, "start"}, now, "token.create", kAdminTokenName);
  });
}

Task<net::Principal> Authority::authenticate(const net::Request& request) {
  auto token = bearer(request);
  if (!token) co_return net::Principal{};
  auto hash = base::sha256(*token);
  if (auto live = attempts_.find(hash); live != attempts_.end()) co_return live->second;
  if (auto user = users_.find(hash); user != users_.end()) co_return use(user->second);
  // Who is known has passed. A token that must be looked up waits where many wrong ones came from the same address: its
  // owner gets in a moment later, who guesses gets no faster by asking more often.
  const std::string address(net::address_of(request.remote));
  if (const auto debt = bad_logins_.debt(address, core_.clock.steady()); debt > base::Duration(0))
    co_await core_.home.sleep(std::min(debt, kLongestLoginDelay), request.cancel);
  try {
    co_return co_await look_up(hash, request.path);
  } catch (const Error& error) {
    if (error.code() == Code::unauthorized) bad_logins_.charge(address, core_.clock.steady());
    throw;
  }
}

Task<net::Principal> Authority::look_up(base::Digest hash, std::string path) {
  if (path.starts_with("/api/v1/attempts/")) co_return co_await find_ended_attempt(hash);
  co_return co_await find_user(hash);
}

net::Principal Authority::use(UserToken& token) {
  auto now = core_.clock.utc();
  if (token.expires && *token.expires <= now)
    throw refused(fmt::format("the token '{}' has expired", token.principal.name))
        .hint("make a new one: lathe token create");
  if (now.micros - token.last_used.micros >= kLastUsedStepMicros) {
    token.last_used = now;
    core_.scope.spawn("note token use", [](Core& core, std::int64_t id, base::UtcTime at) -> Task<void> {
      co_await core.database.write([=](db::Connection& connection) { db::tokens::touch(connection, id, at); });
    }(core_, token.principal.token_id, now));
  }
  return token.principal;
}

Task<net::Principal> Authority::find_user(base::Digest hash) {
  auto look_up = [hash](db::Connection& connection) { return db::tokens::find_by_hash(connection, hash); };
  auto before = revocations_;
  auto row = co_await core_.database.read(look_up);
  while (before != revocations_) {
    before = revocations_;
    row = co_await core_.database.read(look_up);
  }
  auto role = row && !row->revoked ? role_from_name(row->role) : std::nullopt;
  if (!role) throw refused("this token is not known, was revoked, or belongs to a run that is over");
  const bool is_new = !users_.contains(hash);
  auto& user = users_[hash];
  user = {principal_of(*row, *role), row->expires, row->last_used.value_or(base::UtcTime{})};
  auto principal = use(user);
  if (is_new && user.expires) core_.scope.spawn("token expiry", wait_for_expiry(hash));
  co_return principal;
}

Task<void> Authority::wait_for_expiry(base::Digest hash) {
  for (;;) {
    auto user = users_.find(hash);
    if (user == users_.end()) co_return;  // revoked
    const auto left = user->second.expires->micros - core_.clock.utc().micros;
    if (left <= 0) {
      if (on_over_) on_over_(user->second.principal.token_id);
      co_return;
    }
    // Again now and then: somebody may set the clock of the machine.
    co_await core_.home.sleep(std::min<base::Duration>(std::chrono::microseconds(left), kExpiryStep),
                              core_.scope.token());
  }
}

Task<net::Principal> Authority::find_ended_attempt(base::Digest hash) {
  auto owner = co_await core_.database.read(
      [&](db::Connection& connection) { return db::attempts::find_by_token_hash(connection, hash); });
  if (!owner) co_return co_await find_user(hash);
  co_return run_principal(net::Role::runner, owner->run.value, owner->attempt.number, owner->workspace);
}

Task<Authority::Created> Authority::create(NewToken wanted, Caller caller) {
  Created created;
  created.secret = make_token();
  auto now = core_.clock.utc();
  auto hash = base::sha256(created.secret);
  auto& row = created.row;
  row.name = wanted.name;
  row.role = role_name(wanted.role);
  row.workspace = wanted.workspace;
  row.created = now;
  row.expires = wanted.expires;
  co_await core_.database.write([&](db::Connection& connection) {
    if (!row.workspace.empty()) db::workspaces::get(connection, row.workspace);
    db::tokens::insert(connection, row, hash);
    audit(connection, caller, now, "token.create", row.name, row.role);
  });
  co_return created;
}

Task<void> Authority::revoke(std::int64_t id, Caller caller) {
  auto now = core_.clock.utc();
  co_await core_.database.write([&](db::Connection& connection) {
    if (auto row = db::tokens::find(connection, id); row && row->name == kAdminTokenName && !row->revoked)
      throw Error(Code::conflict, "this is the token of the state folder; without it nobody could make another")
          .field("token")
          .hint("to change it, remove the file 'token' from the state folder and start the server again");
    if (!db::tokens::revoke(connection, id, now))
      throw Error(Code::not_found, fmt::format("there is no token {}", id))
          .field("token")
          .hint("lathe token list shows them");
    audit(connection, caller, now, "token.revoke", fmt::format("{}", id));
  });
  ++revocations_;
  std::erase_if(users_, [id](const auto& entry) { return entry.second.principal.token_id == id; });
  if (on_over_) on_over_(id);
}

std::string Authority::attempt_token(const std::string& run_id, std::int64_t sequence, int attempt) const {
  auto digest = base::value_or_throw(
      base::Digest::parse(keyed_hash(attempt_key_, fmt::format("{}.{}\n{}", sequence, attempt, run_id))));
  return format_token({reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()});
}

AttemptHashes hashes_of(std::string_view runner_token) {
  return {base::sha256(runner_token), base::sha256(wire::script_token(runner_token)), false};
}

AttemptHashes Authority::recovered_hashes(const model::RunRecord& run, const model::AttemptRecord& attempt,
                                          std::optional<base::Digest> script) const {
  if (script) return {attempt.token_hash, script, false};
  // Placed by an older release. Its runner may be of that release, or not have been started yet and be one of ours.
  auto hashes = hashes_of(attempt_token(run.id.value, run.sequence, attempt.number));
  if (hashes.runner != attempt.token_hash) hashes = {attempt.token_hash, std::nullopt, true};
  hashes.one_for_both = true;
  return hashes;
}

void Authority::attempt_started(const AttemptHashes& hashes, std::string run_id, int attempt, std::string workspace) {
  auto runner = run_principal(net::Role::runner, std::move(run_id), attempt, std::move(workspace));
  auto script = runner;
  script.role = net::Role::run;
  if (hashes.one_for_both) runner.role = net::Role::run;
  runner.also_runner = hashes.one_for_both;
  attempts_[hashes.runner] = std::move(runner);
  if (!hashes.script) return;
  attempts_[*hashes.script] = std::move(script);
  scripts_[hashes.runner] = *hashes.script;
}

void Authority::attempt_ended(const base::Digest& runner_hash) {
  if (auto script = scripts_.find(runner_hash); script != scripts_.end()) {
    attempts_.erase(script->second);
    scripts_.erase(script);
  }
  attempts_.erase(runner_hash);
}

}  // namespace lathe::server
