#include "envs/pylock.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/strings.h"
#include "envs/spec.h"
#include "envs/toml.h"

namespace lathe::envs {
namespace {

namespace json = boost::json;
using base::Result;

std::string text(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

// "…/numpy-1.18.5-cp36-….whl#sha256=…" → the file's name, with %2B and the like made plain.
std::string file_name(std::string_view location) {
  location = location.substr(0, location.find_first_of("?#"));
  location = location.substr(location.rfind('/') + 1);
  std::string out;
  for (std::size_t i = 0; i < location.size(); ++i) {
    auto byte = location[i] == '%' ? base::from_hex(base::to_lower(location.substr(i + 1, 2))) : std::nullopt;
    out += byte && byte->size() == 1 ? *byte : std::string(1, location[i]);
    if (byte && byte->size() == 1) i += 2;
  }
  return out;
}

Result<PylockFile> read_file(const json::object& object) {
  PylockFile file;
  file.location = text(object, "url").empty() ? text(object, "path") : text(object, "url");
  file.name = file_name(file.location);
  file.uploaded = base::parse_utc(text(object, "upload-time"));
  const json::value* hashes = object.if_contains("hashes");
  auto digest = base::Digest::parse(hashes && hashes->is_object() ? text(hashes->get_object(), "sha256") : "");
  if (!digest || file.name.empty())
    return base::fail(base::Error(base::Code::upstream,
                                  fmt::format("the index gives no SHA-256 for {}", base::printable(file.location)))
                          .hint("use an index that does, or a wheelhouse folder"));
  file.sha256 = *digest;
  return file;
}

Result<std::optional<PylockFile>> read_optional(const json::object& package, std::string_view key) {
  const json::value* found = package.if_contains(key);
  if (!found || !found->is_object()) return std::optional<PylockFile>();
  LATHE_TRY(auto file, read_file(found->get_object()));
  return std::optional(std::move(file));
}

Result<PylockPackage> read_package(const json::object& object) {
  PylockPackage package;
  package.name = text(object, "name");
  package.version = text(object, "version");
  if (const auto* list = object.if_contains("wheels"); list && list->is_array())
    for (const auto& item : list->get_array()) {
      if (!item.is_object()) return base::fail(base::Code::corrupt, "a wheel in uv's answer is not a table");
      LATHE_TRY(auto file, read_file(item.get_object()));
      package.wheels.push_back(std::move(file));
    }
  LATHE_TRY(package.sdist, read_optional(object, "sdist"));
  LATHE_TRY(package.archive, read_optional(object, "archive"));
  if (const auto* vcs = object.if_contains("vcs"); vcs && vcs->is_object()) {
    package.git_url = text(vcs->get_object(), "url");
    package.git_commit = text(vcs->get_object(), "commit-id");
  }
  if (const auto* folder = object.if_contains("directory"); folder && folder->is_object())
    package.directory = text(folder->get_object(), "path");
  return package;
}

}  // namespace

std::optional<base::UtcTime> PylockPackage::first_upload() const {
  std::optional<base::UtcTime> first;
  for (const auto& wheel : wheels)
    if (wheel.uploaded && (!first || *wheel.uploaded < *first)) first = wheel.uploaded;
  if (wheels.empty() && sdist) first = sdist->uploaded;
  return first;
}

Result<std::vector<PylockPackage>> parse_pylock(std::string_view toml) {
  LATHE_TRY(auto root, parse_toml(toml));
  std::vector<PylockPackage> out;
  const json::value* packages = root.if_contains("packages");
  if (!packages) return out;
  if (!packages->is_array()) return base::fail(base::Code::corrupt, "uv's answer has no list of packages");
  for (const auto& item : packages->get_array()) {
    if (!item.is_object()) return base::fail(base::Code::corrupt, "uv's answer has no list of packages");
    LATHE_TRY(auto package, read_package(item.get_object()));
    out.push_back(std::move(package));
  }
  return out;
}

}  // namespace lathe::envs
