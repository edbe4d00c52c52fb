#include "server/secret_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/seal.h"
#include "base/strings.h"
#include "sys/fd.h"

namespace lathe::server {

using base::Code;
using base::Error;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".key";

Error unsafe(std::string_view what, std::string hint) {
  return Error(Code::io, fmt::format("the keys of the secrets are not safe: {}", what)).hint(std::move(hint));
}

std::string read_key(const fs::path& path, const std::string& id) {
  sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT)
    throw Error(Code::not_found, fmt::format("the key {} of this secret is not on this server", id))
        .field("secret")
        .hint("bring its file from where the server was before, or set the secret again");
  if (!file) throw base::errno_error(errno, "open a key");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw base::errno_error(errno, "look at a key");
  if ((status.st_mode & 077) != 0) throw unsafe("others may read a key", "chmod 600 every key of the key folder");
  std::string bytes(base::kSealKeyBytes + 1, '\0');
  const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
  bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  if (bytes.size() != base::kSealKeyBytes)
    throw Error(Code::corrupt, fmt::format("the key {} does not have {} bytes", id, base::kSealKeyBytes))
        .hint("restore its file");
  return bytes;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

void require_private(const fs::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) == 0 && (status.st_mode & 022) != 0)
    throw unsafe("others may write to the key folder", "chmod 700 the key folder");
}

// What binds a sealed text to its place, so that a row cannot be passed off as another.
std::string place(std::string_view what, const std::string& workspace, const std::string& name) {
  return fmt::format("lathe {}\n{}\n{}", what, workspace, name);
}

}  // namespace

fs::path SecretKeys::folder() const {
  if (!folder_.empty()) return folder_;
  if (const char* named = std::getenv("LATHE_KEY_FOLDER"); named && *named == '/') return named;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return fs::path(config) / "lathe" / "keys";
  const char* home = std::getenv("HOME");
  if (home && *home == '/') return fs::path(home) / ".config" / "lathe" / "keys";
  throw Error(Code::invalid, "this server does not know where to keep the keys of secrets")
      .hint("set 'secrets: {key_folder: PATH}' in its config.yaml");
}

std::vector<std::string> SecretKeys::ids() const {
  std::vector<std::string> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder(), failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (auto name = entry->path().filename().string(); name.ends_with(kSuffix) && name.size() > kSuffix.size())
      found.push_back(name.substr(0, name.size() - kSuffix.size()));
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw base::errno_error(failed.value(), "look into the key folder");
  std::ranges::sort(found);
  return found;
}

SecretKeys::Key SecretKeys::make_next(base::UtcTime now) const {
  const fs::path folder = this->folder();
  require_private(folder);
  std::error_code failed;
  fs::create_directories(folder.parent_path(), failed);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw base::errno_error(errno, "make the key folder");
  std::string date;
  for (char c : base::format_utc(now))
    if (c >= '0' && c <= '9' && date.size() < 14) date += c;
  const auto known = ids();
  const std::string random = hex(base::random_bytes(4));
  Key key{fmt::format("{}-{}", date, random), base::random_bytes(base::kSealKeyBytes)};
  // Whatever the clock says, and whatever names others have given: the new one comes last.
  if (!known.empty() && key.id <= known.back()) key.id = fmt::format("{}-{}", known.back(), random);
  const fs::path path = folder / (key.id + std::string(kSuffix)), draft = folder / (key.id + ".new");
  sys::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::write(file.get(), key.bytes.data(), key.bytes.size()) != static_cast<ssize_t>(key.bytes.size()) ||
      ::fsync(file.get()) != 0 || ::rename(draft.c_str(), path.c_str()) != 0)
    throw base::errno_error(errno, "write a key");
  // A secret may be acknowledged only when its key cannot be lost any more.
  sys::Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) throw base::errno_error(errno, "sync the key folder");
  return key;
}

SecretKeys::Key SecretKeys::current(base::UtcTime now) const {
  require_private(folder());
  const auto known = ids();
  return known.empty() ? make_next(now) : get(known.back());
}

SecretKeys::Key SecretKeys::get(const std::string& id) const {
  return {id, read_key(folder() / (id + std::string(kSuffix)), id)};
}

SealedSecret seal_secret(const SecretKeys& keys, const std::string& workspace, const std::string& name,
                         const std::string& value, base::UtcTime now) {
  auto key = keys.current(now);
  std::string data_key = base::random_bytes(base::kSealKeyBytes);
  SealedSecret secret{key.id, base::seal(key.bytes, place("secret key", workspace, name), data_key),
                      base::seal(data_key, place("secret", workspace, name), value)};
  base::wipe(key.bytes);
  base::wipe(data_key);
  return secret;
}

std::string rewrap_secret(const SecretKeys& keys, const SecretKeys::Key& next, const std::string& workspace,
                          const std::string& name, const std::string& key_id, const std::string& wrapped_key) {
  auto key = keys.get(key_id);
  const auto where = place("secret key", workspace, name);
  auto data_key = base::unseal(key.bytes, where, wrapped_key);
  base::wipe(key.bytes);
  if (!data_key) throw Error(std::move(data_key).error()).hint("set the secret again");
  auto wrapped = base::seal(next.bytes, where, *data_key);
  base::wipe(*data_key);
  return wrapped;
}

std::string open_secret(const SecretKeys& keys, const std::string& workspace, const std::string& name,
                        const SealedSecret& secret) {
  auto key = keys.get(secret.key_id);
  auto data_key = base::unseal(key.bytes, place("secret key", workspace, name), secret.wrapped_key);
  base::wipe(key.bytes);
  if (!data_key) throw Error(std::move(data_key).error()).hint("set the secret again");
  auto value = base::unseal(*data_key, place("secret", workspace, name), secret.sealed);
  base::wipe(*data_key);
  if (!value) throw Error(std::move(value).error()).hint("set the secret again");
  return std::move(*value);
}

}  // namespace lathe::server
