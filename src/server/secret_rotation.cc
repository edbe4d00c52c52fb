#include "server/secret_rotation.h"

#include <algorithm>

#include "base/log.h"
#include "base/seal.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr int kBatch = 100;

struct Rewrapped {
  db::secrets::Wrapped before;
  std::string wrapped_key;
};

// On the pool. What cannot be opened is left out.
std::vector<Rewrapped> rewrap_all(const SecretKeys& keys, const SecretKeys::Key& next,
                                  const std::vector<db::secrets::Wrapped>& rows) {
  std::vector<Rewrapped> out;
  for (const auto& row : rows) try {
      out.push_back({row, rewrap_secret(keys, next, row.workspace, row.name, row.key_id, row.wrapped_key)});
    } catch (const Error& error) {
      base::log::warn("a secret keeps its key",
                      {{"workspace", row.workspace}, {"secret", row.name}, {"error", error.text()}});
    }
  return out;
}

}  // namespace

Task<SecretRotation::Rotated> SecretRotation::rotate(Caller caller) {
  if (busy_) throw Error(Code::conflict, "the keys are being rotated already").hint("try again when that is done");
  struct Busy {
    bool& flag;
    explicit Busy(bool& busy) : flag(busy) { flag = true; }
    ~Busy() { flag = false; }
  } busy(busy_);
  co_return co_await rotate_all(std::move(caller));
}

Task<SecretRotation::Rotated> SecretRotation::rotate_all(Caller caller) {
  core_.reserve.require_room();
  auto now = core_.clock.utc();
  auto next = co_await core_.files.run(core_.home, [&] { return SecretKeys(core_.site.key_folder).make_next(now); });
  newest_ = next.id;
  Rotated rotated;
  rotated.key = next.id;
  // Again from the start while there is something to do: a secret may be set with the key before meanwhile.
  for (int changed = 1; changed > 0;) {
    rotated.unopened = changed = 0;
    db::secrets::Wrapped after;
    for (int seen = kBatch; seen == kBatch;) {
      const int before = rotated.secrets;
      seen = co_await rewrap_some(next, after, rotated);
      changed += rotated.secrets - before;
    }
  }
  base::wipe(next.bytes);
  co_await core_.database.write([&](db::Connection& connection) {
    audit(connection, caller, now, "secret.rotate", rotated.key, fmt::format("{} secrets", rotated.secrets));
  });
  rotated.unused = co_await unused_keys();
  co_return rotated;
}

Task<int> SecretRotation::rewrap_some(const SecretKeys::Key& next, db::secrets::Wrapped& after, Rotated& counts) {
  auto rows = co_await core_.database.read(
      [&](db::Connection& connection) { return db::secrets::wrapped_otherwise(connection, next.id, after, kBatch); });
  if (rows.empty()) co_return 0;
  auto ready =
      co_await core_.files.run(core_.home, [&] { return rewrap_all(SecretKeys(core_.site.key_folder), next, rows); });
  counts.secrets += co_await core_.database.write([&](db::Connection& connection) {
    // One that was set or removed meanwhile is not what it was: the next round looks at it again.
    return static_cast<int>(std::ranges::count_if(ready, [&](const Rewrapped& row) {
      return db::secrets::rewrap(connection, row.before, next.id, row.wrapped_key);
    }));
  });
  counts.unopened += static_cast<int>(rows.size() - ready.size());
  after = rows.back();
  co_return static_cast<int>(rows.size());
}

Task<std::vector<std::string>> SecretRotation::unused_keys() {
  auto used =
      co_await core_.database.read([](db::Connection& connection) { return db::secrets::keys_in_use(connection); });
  auto unused = co_await core_.files.run(core_.home, [&] { return SecretKeys(core_.site.key_folder).ids(); });
  std::erase_if(unused, [&](const std::string& id) { return id >= newest_ || std::ranges::binary_search(used, id); });
  co_return unused;
}

}  // namespace lathe::server
