#include "envs/kept_files.h"

#include <fstream>
#include <vector>

#include "base/strings.h"
#include "envs/work_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;

fs::path place_of(const Settings& settings, const LockedFile& file) {
  return settings.cache / "files" / file.sha256.hex() / file.name;
}

}  // namespace

base::Result<base::Digest> digest_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  base::Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0)
    hash.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
  if (!in.eof()) return base::fail(base::errno_error(errno, "reading " + path.string()));
  return hash.finish();
}

base::Result<fs::path> keep_file(const Settings& settings, const fs::path& from, const std::string& name,
                                 const base::Digest& sha256) {
  const fs::path place = place_of(settings, {name, sha256});
  std::error_code problem;
  if (fs::exists(place, problem)) return place;
  LATHE_TRY(auto work, WorkFolder::make(settings.cache, "file"));
  const fs::path copy = work.path() / name;
  fs::copy_file(from, copy, problem);
  if (problem) return base::fail(base::errno_error(problem.value(), "copying " + from.string()));
  LATHE_TRY(auto digest, digest_of_file(copy));
  if (digest != sha256) return base::fail(Code::corrupt, "{} is not the file that was locked", base::printable(name));
  LATHE_TRY_VOID(make_folders(place.parent_path()));
  fs::rename(copy, place, problem);
  if (problem) return base::fail(base::errno_error(problem.value(), "keeping " + place.string()));
  return place;
}

base::Result<fs::path> get_file(const Settings& settings, const LockedFile& file) {
  const fs::path place = place_of(settings, file);
  std::error_code ignored;
  if (fs::exists(place, ignored)) return place;
  if (settings.sdk.digest == file.sha256 && !settings.sdk.path.empty())
    return keep_file(settings, settings.sdk.path, file.name, file.sha256);
  if (settings.fetch_file) {
    LATHE_TRY(auto fetched, settings.fetch_file(file.sha256, file.name));
    return keep_file(settings, fetched, file.name, file.sha256);
  }
  return base::fail(
      Error(Code::not_found, fmt::format("{} of the lock is not on this node", base::printable(file.name)))
          .hint("lock the environment again, with the source folder that holds it"));
}

base::Result<fs::path> file_of_source_folder(const Settings& settings, std::string_view location) {
  if (settings.source_folder.empty()) return fs::path();
  if (location.starts_with("file://"))
    location.remove_prefix(7);
  else if (location.find("://") != std::string_view::npos)
    return fs::path();
  std::error_code ignored;
  const fs::path root = fs::canonical(settings.source_folder, ignored);
  // uv writes paths relative to its output, which lies two folders below the cache.
  const fs::path path = fs::weakly_canonical(
      location.starts_with('/') ? fs::path(location) : settings.cache / "tmp" / "x" / location, ignored);
  return path.string().starts_with(root.string() + "/") ? path : fs::path();
}

}  // namespace lathe::envs
