#include "cli/local_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "cas/tree.h"
#include "sys/fd.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

base::Result<LocalFile> hash_file(std::string path, const fs::path& file) {
  LATHE_TRY_VOID(cas::check_tree_path(path));
  sys::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return base::fail(base::errno_error(errno, file.string()));
  base::Sha256 hash;
  std::string piece(1u << 20, '\0');
  std::uint64_t size = 0;
  while (auto got = ::read(fd.get(), piece.data(), piece.size())) {
    if (got < 0) return base::fail(base::errno_error(errno, file.string()));
    hash.update(piece.data(), static_cast<std::size_t>(got));
    size += static_cast<std::uint64_t>(got);
  }
  return LocalFile{std::move(path), file, {hash.finish(), size}, (status.st_mode & 0100) != 0};
}

base::Result<cas::BlobFile> open_file(const LocalFile& file) {
  int fd = ::open(file.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return base::fail(base::errno_error(errno, file.file.string()));
  return cas::BlobFile(fd, file.blob.size);
}

base::Result<cas::BlobFile> open_bytes(std::string_view bytes) {
  int fd = ::memfd_create("manifest", MFD_CLOEXEC);
  if (fd < 0) return base::fail(base::errno_error(errno, "memory for a manifest"));
  cas::BlobFile file(fd, bytes.size());
  while (!bytes.empty()) {
    auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) return base::fail(base::errno_error(errno, "memory for a manifest"));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return file;
}

}  // namespace

base::Result<LocalFiles> read_local_files(const fs::path& path) {
  std::error_code error;
  LocalFiles found;
  auto absolute = fs::weakly_canonical(path, error);
  found.name = absolute.filename().string();
  found.is_folder = fs::is_directory(path, error);
  if (!found.is_folder) {
    LATHE_TRY(auto file, hash_file(found.name, path));
    found.files.push_back(std::move(file));
    return found;
  }
  for (auto entry = fs::recursive_directory_iterator(path, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    LATHE_TRY(auto file, hash_file(entry->path().lexically_relative(path).generic_string(), entry->path()));
    found.files.push_back(std::move(file));
  }
  if (error) return base::fail(base::errno_error(error.value(), path.string()));
  std::ranges::sort(found.files, {}, &LocalFile::path);
  return found;
}

base::Result<UploadSummary> send_files(ApiClient& api, const LocalFiles& files) {
  std::unordered_map<base::Digest, const LocalFile*> by_digest;
  std::vector<cas::BlobInfo> blobs;
  for (const auto& file : files.files)
    if (by_digest.emplace(file.blob.digest, &file).second) blobs.push_back(file.blob);
  return upload_blobs(api, blobs, [&](const cas::BlobInfo& blob) { return open_file(*by_digest.at(blob.digest)); });
}

base::Result<base::Digest> send_tree(ApiClient& api, const LocalFiles& files) {
  LATHE_TRY_VOID(send_files(api, files));
  cas::Tree tree;
  for (const auto& file : files.files)
    tree.entries.push_back({files.is_folder ? files.name + "/" + file.path : file.path, file.blob.digest,
                            file.blob.size, file.executable, ""});
  std::ranges::sort(tree.entries, {}, &cas::TreeEntry::path);
  auto manifest = cas::encode_tree(tree);
  cas::BlobInfo blob{base::sha256(manifest), manifest.size()};
  LATHE_TRY_VOID(upload_blobs(api, {blob}, [&](const cas::BlobInfo&) { return open_bytes(manifest); }));
  return blob.digest;
}

}  // namespace lathe::cli
