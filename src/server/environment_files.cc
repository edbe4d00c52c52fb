#include "server/environment_files.h"

#include <fcntl.h>

#include "base/strings.h"
#include "server/environment_site.h"
#include "sys/fd.h"

namespace lathe::server {

namespace fs = std::filesystem;

std::vector<base::Digest> lock_files(const envs::Lock& lock) {
  std::vector<base::Digest> out;
  if (!lock.content.sdk_version.empty()) out.push_back(lock.content.sdk_sha256);
  for (const auto& package : lock.content.packages)
    if (package.source == envs::PackageSource::file)
      for (const auto& file : package.files) out.push_back(file.sha256);
  return out;
}

rt::Task<void> keep_lock_blobs(Core& core, envs::Lock lock) {
  co_await core.store_work.run([&] {
    auto batch = core.store.begin_batch();
    base::value_or_throw(batch->put(lock.text));
    auto sdk = EnvironmentSite::sdk_bytes();
    if (base::sha256(sdk) == lock.content.sdk_sha256) base::value_or_throw(batch->put(sdk));
    base::value_or_throw(batch->commit());
  });
}

BuildFiles::BuildFiles(cas::BlobStore& store, fs::path folder) : store_(store), folder_(std::move(folder)) {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);  // of a server that was killed
}

BuildFiles::~BuildFiles() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

base::Result<fs::path> BuildFiles::fetch(const base::Digest& digest, const std::string& name) const {
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
    return base::fail(base::Code::invalid, "'{}' is not the name of a file", base::printable(name));
  LATHE_TRY(auto blob, store_.open(digest));
  const auto folder = folder_ / digest.hex();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return base::fail(base::errno_error(failed.value(), "make a folder for the files of a build"));
  const auto path = folder / name;
  sys::Fd out(::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) return base::fail(base::errno_error(errno, "write a file for a build"));
  for (off_t offset = 0; offset < static_cast<off_t>(blob.size());) {
    auto copied =
        ::copy_file_range(blob.fd(), &offset, out.get(), nullptr, blob.size() - static_cast<std::size_t>(offset), 0);
    if (copied <= 0) return base::fail(base::errno_error(copied < 0 ? errno : EIO, "copy a file for a build"));
  }
  return path;
}

}  // namespace lathe::server
