#include "cas/staging_area.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/strings.h"
#include "cas/staging_folders.h"

namespace lathe::cas {
namespace {

constexpr std::size_t kIdBytes = 16;

bool is_id(std::string_view text) {
  return text.size() == 2 * kIdBytes &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::unexpected<base::Error> no_place(std::string_view id) {
  return base::fail(
      base::Error(base::Code::not_found, fmt::format("there is no staging folder '{}'", base::printable(id, 40)))
          .field("staging"));
}

// Nobody but us, by no other name, can change such a file without having been us before.
base::Result<void> check_file(const struct stat& st, const BlobInfo& blob) {
  auto odd = [&](std::string_view why) {
    return base::fail(
        base::Error(base::Code::invalid, fmt::format("the staged file {} {}", blob.digest.hex(), why)).field("blobs"));
  };
  if (!S_ISREG(st.st_mode)) return odd("is not a plain file");
  if (st.st_uid != ::geteuid()) return odd("belongs to another user");
  if (st.st_nlink != 1) return odd("has more than one name");
  if ((st.st_mode & 07777 & ~mode_t{0444}) != 0) return odd("is not read-only");
  if (static_cast<std::uint64_t>(st.st_size) != blob.size)
    return odd(fmt::format("has {} bytes, not {}", st.st_size, blob.size));
  return {};
}

}  // namespace

base::Result<StagingPlace> StagingArea::open() {
  LATHE_TRY_VOID(remove_staging(store_.layout(), Staging::abandoned));
  auto id = base::to_hex(base::random_bytes(kIdBytes));
  std::error_code problem;
  auto path = std::filesystem::absolute(store_.layout().staging(id), problem).string();
  LATHE_TRY_VOID(store_.files().make_directory(path, 0700));
  return StagingPlace{std::move(id), std::move(path)};
}

base::Result<StagingSummary> StagingArea::commit(std::string_view id, const std::vector<BlobInfo>& blobs) {
  if (!is_id(id)) return no_place(id);
  auto path = store_.layout().staging(id);
  sys::File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return no_place(id);
  std::vector<StagedBlob> staged;
  staged.reserve(blobs.size());
  StagingSummary summary;
  for (const auto& blob : blobs) {
    if (store_.find(blob.digest)) continue;
    auto name = blob.digest.hex();
    struct stat st{};
    if (::fstatat(folder.fd(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      return base::fail(
          base::Error(base::Code::not_found, fmt::format("there is no staged file {}", name)).field("blobs"));
    LATHE_TRY_VOID(check_file(st, blob));
    staged.push_back({blob, fmt::format("{}/{}", path, name)});
    store_.lease_clock().correct(staged.back().path);
    ++summary.blobs, summary.bytes += blob.size;
  }
  LATHE_TRY_VOID(store_.committer().commit(staged));
  return summary;
}

}  // namespace lathe::cas
