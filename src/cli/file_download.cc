#include "cli/file_download.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/digest.h"
#include "base/strings.h"
#include "cas/tree.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

// One file into `fd`, resumed where a broken connection left it; gives its digest.
base::Result<base::Digest> fetch(Call& call, const std::string& target, int fd, Progress& progress) {
  base::Sha256 hash;
  std::uint64_t have = 0;
  auto answer = call.api().exchange([&](net::HttpClient& http) {
    net::Headers headers;
    if (have > 0) headers["range"] = fmt::format("bytes={}-", have);
    return http.download(
        target,
        [&](std::string_view bytes) -> base::Result<void> {
          if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
            return base::fail(base::errno_error(errno, "writing the file"));
          hash.update(bytes);
          have += bytes.size();
          progress.add(bytes.size());
          return {};
        },
        headers);
  });
  // The connection broke behind the last byte: there is no rest to ask for.
  const bool was_whole = !answer && have > 0 && answer.error().code() == base::Code::no_range;
  if (!answer && !was_whole) return base::fail(std::move(answer).error());
  return hash.finish();
}

base::Result<void> download_one(Call& call, const RemoteFile& file, const fs::path& folder, Progress& progress) {
  // Names come from scripts and other people; none may leave the target folder.
  LATHE_TRY_VOID(cas::check_tree_path(file.path));
  fs::path target = folder / file.path, temporary = target;
  temporary += ".part";
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) return base::fail(base::errno_error(error.value(), target.parent_path().string()));
  int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, file.executable ? 0755 : 0644);
  if (fd < 0) return base::fail(base::errno_error(errno, temporary.string()));
  auto digest = fetch(call, file.target, fd, progress);
  ::close(fd);
  bool good = digest && (file.digest.empty() || digest->hex() == file.digest);
  if (good && ::rename(temporary.c_str(), target.c_str()) == 0) return {};
  int number = errno;
  ::unlink(temporary.c_str());
  if (!digest) return base::fail(std::move(digest).error());
  if (!good) return base::fail(base::Code::corrupt, "{} arrived damaged: its digest is not {}", file.path, file.digest);
  return base::fail(base::errno_error(number, target.string()));
}

}  // namespace

base::Result<int> download_files(Call& call, const std::vector<RemoteFile>& files, const fs::path& folder) {
  std::uint64_t total = 0;
  for (const auto& file : files) total += file.size;
  Progress progress("downloading", total);
  json::array done;
  for (const auto& file : files) {
    LATHE_TRY_VOID(download_one(call, file, folder, progress));
    done.emplace_back((folder / file.path).string());
  }
  if (call.settings.json) return write_data(pretty_json(done)), 0;
  std::string out;
  for (const auto& path : done) out += base::printable(text_at(path, ""), 8192) + "\n";
  write_data(out);
  return 0;
}

base::Result<int> download_tree(Call& call, const std::string& tree) {
  LATHE_TRY(auto bytes, call.api().get(api_path({"trees", tree})));
  LATHE_TRY(auto manifest, cas::decode_tree(bytes));
  std::vector<RemoteFile> files;
  for (const auto& entry : manifest.entries)
    if (entry.link_target.empty())
      files.push_back(
          {entry.path, api_path({"blobs", entry.digest.hex()}), entry.digest.hex(), entry.size, entry.executable});
  return download_files(call, files, call.arguments.value_or("to", "."));
}

}  // namespace lathe::cli
