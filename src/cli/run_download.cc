#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/digest.h"
#include "base/strings.h"
#include "cas/tree.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kArguments{
    Argument{.name = "RUN", .help = "the run's id"},
    Argument{
        .name = "PATH", .help = "only this file, or the files under this folder", .required = false, .repeated = true}};
constexpr std::array kOptions{Option{.name = "to",
                                     .value = "DIR",
                                     .help = "where the files go",
                                     .fallback = "a new folder named as the run",
                                     .completes = Completes::folder}};
constexpr std::array kExamples{
    Example{"lathe run download mnist_1550603179_109029bb outputs --to model", "fetch the outputs"}};

struct RemoteFile {
  std::string path, digest;
  std::uint64_t size = 0;
  bool executable = false;
};

bool is_wanted(const std::string& path, std::span<const std::string> filters) {
  return filters.empty() || std::ranges::any_of(filters, [&](std::string_view filter) {
           while (filter.ends_with('/')) filter.remove_suffix(1);
           return path == filter || path.starts_with(fmt::format("{}/", filter));
         });
}

base::Result<std::vector<RemoteFile>> list_files(Call& call, const std::string& run,
                                                 std::span<const std::string> filters) {
  std::vector<RemoteFile> out;
  std::string cursor;
  do {
    auto target = call.workspace_path({"runs", run, "files"}) + "?limit=500";
    if (!cursor.empty()) target += "&cursor=" + net::encode_segment(cursor);
    LATHE_TRY(auto text, call.api().get(target));
    LATHE_TRY(auto value, parse_json(text, "the list of files"));
    for (const auto& item : value.at("items").as_array()) {
      RemoteFile file{text_at(item, "/path"), text_at(item, "/digest"),
                      base::parse_u64(text_at(item, "/size")).value_or(0), text_at(item, "/executable") == "true"};
      // Names come from a script; none may leave the target folder.
      LATHE_TRY_VOID(cas::check_tree_path(file.path));
      if (is_wanted(file.path, filters)) out.push_back(std::move(file));
    }
    cursor = text_at(value, "/next");
  } while (!cursor.empty());
  return out;
}

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

base::Result<void> download_one(Call& call, const std::string& run, const RemoteFile& file, const fs::path& folder,
                                Progress& progress) {
  fs::path target = folder / file.path, temporary = target;
  temporary += ".part";
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) return base::fail(base::errno_error(error.value(), target.parent_path().string()));
  int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, file.executable ? 0755 : 0644);
  if (fd < 0) return base::fail(base::errno_error(errno, temporary.string()));
  auto from = call.workspace_path({"runs", run, "files", "content"}) + "?path=" + net::encode_segment(file.path);
  auto digest = fetch(call, from, fd, progress);
  ::close(fd);
  bool good = digest && (file.digest.empty() || digest->hex() == file.digest);
  if (good && ::rename(temporary.c_str(), target.c_str()) == 0) return {};
  int number = errno;
  ::unlink(temporary.c_str());
  if (!digest) return base::fail(std::move(digest).error());
  if (!good) return base::fail(base::Code::corrupt, "{} arrived damaged: its digest is not {}", file.path, file.digest);
  return base::fail(base::errno_error(number, target.string()));
}

base::Result<int> download(Call& call) {
  const auto& run = call.argument(0);
  std::span<const std::string> filters(call.arguments.positionals.begin() + 1, call.arguments.positionals.end());
  LATHE_TRY(auto files, list_files(call, run, filters));
  if (files.empty())
    return base::fail(base::Error(base::Code::not_found, "the run has no such files").hint("lathe run files " + run));
  fs::path folder = call.arguments.value_or("to", run);
  std::uint64_t total = 0;
  for (const auto& file : files) total += file.size;
  Progress progress("downloading", total);
  json::array done;
  for (const auto& file : files) {
    LATHE_TRY_VOID(download_one(call, run, file, folder, progress));
    done.emplace_back((folder / file.path).string());
  }
  if (call.settings.json) return write_data(pretty_json(done)), 0;
  std::string out;
  for (const auto& path : done) out += base::printable(text_at(path, ""), 8192) + "\n";
  write_data(out);
  return 0;
}

}  // namespace

constinit const Command kRunDownload{.path = "run download",
                                     .summary = "Fetch the files of a run",
                                     .options = kOptions,
                                     .arguments = kArguments,
                                     .examples = kExamples,
                                     .run = download};

}  // namespace lathe::cli
