#include "envs/lock.h"

#include <algorithm>
#include <boost/json.hpp>

#include "envs/lock_json.h"

namespace lathe::envs {
namespace {

namespace json = boost::json;

void pretty(std::string& out, const json::value& value, int depth);

// One member or item a line, so that two locks can be compared with diff; leaves stay on one line.
template <class List, class Each>
void block(std::string& out, const List& list, char open, char close, int depth, Each each) {
  out.push_back(open);
  bool first = true;
  for (const auto& item : list) {
    out += first ? "\n" : ",\n";
    first = false;
    out.append(static_cast<std::size_t>(depth) + 1, ' ');
    each(item);
  }
  if (!first) out.push_back('\n'), out.append(static_cast<std::size_t>(depth), ' ');
  out.push_back(close);
}

void pretty(std::string& out, const json::value& value, int depth) {
  const bool leaf = depth >= 2;
  if (value.is_object() && !leaf)
    block(out, value.get_object(), '{', '}', depth, [&](const auto& member) {
      out += json::serialize(json::value(member.key())) + ": ";
      pretty(out, member.value(), depth + 1);
    });
  else if (value.is_array() && !leaf)
    block(out, value.get_array(), '[', ']', depth, [&](const auto& item) { pretty(out, item, depth + 1); });
  else
    out += json::serialize(value);
}

}  // namespace

Lock write_lock(LockContent content) {
  std::ranges::sort(content.packages, {}, &LockedPackage::name);
  for (auto& package : content.packages) std::ranges::sort(package.files, {}, &LockedFile::name);
  Lock lock;
  pretty(lock.text, lock_to_json(content), 0);
  lock.text.push_back('\n');
  lock.digest = base::sha256(lock.text);
  lock.content = std::move(content);
  return lock;
}

Lock with_sdk(const Lock& lock, const std::string& version, const base::Digest& sha256) {
  LockContent content = lock.content;
  content.sdk_version = version;
  content.sdk_sha256 = sha256;
  return write_lock(std::move(content));
}

base::Result<Lock> parse_lock(std::string_view text) {
  boost::system::error_code problem;
  json::value root = json::parse(text, problem);
  if (problem || !root.is_object()) return base::fail(base::Code::invalid, "the lock is not a JSON object");
  LATHE_TRY(auto content, lock_from_json(root.get_object()));
  Lock lock = write_lock(std::move(content));
  if (lock.text != text)
    return base::fail(base::Error(base::Code::invalid, "the lock is not in its canonical form")
                          .hint("a lock is not to be edited: change the environment and lock it again"));
  return lock;
}

}  // namespace lathe::envs
