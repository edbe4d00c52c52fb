#include "server/url_partial.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::server {
namespace {

// Only a strong validator tells that the rest belongs to what we have (RFC 9110, If-Range).
std::string validator_of(const net::FetchHead& head) {
  if (head.encoded) return "";
  if (!head.etag.empty()) return head.etag.starts_with("W/") ? "" : head.etag;
  return head.last_modified;
}

std::string read_validator(const std::string& path) {
  sys::File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text(4096, '\0');
  auto got = file ? ::pread(file.fd(), text.data(), text.size(), 0) : -1;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

UrlPartial::UrlPartial(cas::DiskStore& store, std::string path, sys::File file)
    : store_(&store), path_(std::move(path)), file_(std::move(file)) {}

base::Result<UrlPartial> UrlPartial::open(cas::DiskStore& store, std::string_view url) {
  std::string path = fmt::format("{}/url-{}", store.layout().partial(), base::sha256(url).hex());
  LATHE_TRY(auto file, store.files().open_or_create(path, 0644));
  UrlPartial partial(store, path, std::move(file));
  struct stat status{};
  if (::fstat(partial.file_.fd(), &status) != 0) return base::fail(base::errno_error(errno, path));
  partial.size_ = static_cast<std::uint64_t>(status.st_size);
  partial.validator_ = read_validator(path + ".validator");
  return partial;
}

base::Result<void> UrlPartial::begin(const net::FetchHead& head) {
  LATHE_TRY_VOID(store_->files().truncate(file_, head.offset));
  size_ = head.offset;
  resumed_ = head.offset > 0;
  if (head.offset > 0) return {};
  validator_ = validator_of(head);
  if (validator_.empty()) return (void)::unlink((path_ + ".validator").c_str()), base::Result<void>();
  return sys::write_file_durably(store_->files(), path_ + ".validator", validator_, 0644);
}

base::Result<void> UrlPartial::append(std::string_view bytes) {
  LATHE_TRY_VOID(store_->files().write(file_, bytes, size_));
  size_ += bytes.size();
  store_->lease_clock().correct(file_.fd());
  return {};
}

base::Result<std::size_t> UrlPartial::read(std::uint64_t offset, char* buffer, std::size_t size) const {
  const ssize_t got = ::pread(file_.fd(), buffer, size, static_cast<off_t>(offset));
  if (got < 0) return base::fail(base::errno_error(errno, "reading what was fetched"));
  return static_cast<std::size_t>(got);
}

base::Result<cas::BlobInfo> UrlPartial::commit() {
  auto batch = store_->begin_batch();
  // What an earlier process wrote, and perhaps could not sync, goes into a new file.
  LATHE_TRY(auto blob, batch->adopt(file_.fd(), path_, resumed_ ? cas::Adopt::copy : cas::Adopt::link));
  LATHE_TRY_VOID(batch->commit());
  drop();
  return blob;
}

void UrlPartial::drop() {
  ::unlink(path_.c_str());
  ::unlink((path_ + ".validator").c_str());
}

}  // namespace lathe::server
