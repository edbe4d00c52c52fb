#include "runner/inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "cas/tree.h"
#include "mount/manifest_tree.h"
#include "runner/datastore_copy.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

// Of all mounts of a run together; the kernel caches as much more as the machine has room for.
constexpr std::uint64_t kCacheBytes = 256u << 20;
// Of each: some chunks, so that one reader does not take from another what it is about to read.
constexpr std::uint64_t kLeastCacheBytes = 64u << 20;

}  // namespace

Inputs::Inputs(const Order& order, Places places, LinkFactory make_link, BackoffLimits backoff)
    : order_(order), places_(std::move(places)), make_link_(std::move(make_link)), backoff_(backoff) {}

void Inputs::enter_namespace(bool is_wanted_anyway) {
  const bool wanted = is_wanted_anyway || std::ranges::any_of(order_.inputs, [](const auto& input) {
                        return input.mode == model::InputMode::mount || input.path_on_compute.starts_with('/');
                      });
  if (!wanted) return;
  mounts_ = &own_mounts_;
  auto entered = sys::enter_mount_namespace();
  has_namespace_ = entered.has_value();
  why_no_namespace_ = entered ? std::string() : entered.error().text();
}

void Inputs::use(sys::Mounts& mounts) {
  mounts_ = &mounts;
  has_namespace_ = true;
  why_no_namespace_.clear();
}

base::Result<void> Inputs::deliver(ServerLink& link, const SnapshotDelivery& copy,
                                   const std::function<base::Result<void>()>& keep_going) {
  end();
  variables_.clear();
  notes_.clear();
  std::error_code failed;
  fs::remove_all(places_.data / "in", failed);
  for (const auto& input : order_.inputs) {
    auto delivered = deliver_one(input, {link, copy, keep_going});
    if (!delivered)
      return base::fail(std::move(delivered).error().during(fmt::format("delivering the input '{}'", input.name)));
  }
  return {};
}

base::Result<void> Inputs::deliver_one(const wire::InputOrder& input, const Delivery& how) {
  if (input.mode == model::InputMode::direct) {
    set_variables(input, input.dataset);
    return {};
  }
  LATHE_TRY(fs::path place, make_place(input));
  const bool copied = input.mode == model::InputMode::download;
  LATHE_TRY_VOID(copied ? copy_one(input, place, how) : mount_one(input, place, how));
  set_variables(input, input.only_file.empty() ? place.string() : (place / input.only_file).string());
  return {};
}

base::Result<void> Inputs::mount_one(const wire::InputOrder& input, const fs::path& place, const Delivery& how) {
  std::string why = why_no_namespace_;
  if (has_namespace_) {
    // A folder that the server told of but that cannot be seen from here: the runner is somewhere else.
    auto mounted = input.folder.empty() ? base::Result<void>(base::fail(base::Code::unsupported, "it is not here"))
                                        : mounts_->bind_read_only(input.folder, place);
    if (!mounted) mounted = serve(input, place, how.link);
    if (mounted) {
      mounted_.push_back(place);
      return {};
    }
    if (mounted.error().code() != base::Code::unsupported) return mounted;
    why = mounted.error().text();
  }
  notes_.push_back(fmt::format("the input '{}' was copied instead of mounted: {}", input.name, why));
  return copy_one(input, place, how);
}

base::Result<void> Inputs::serve(const wire::InputOrder& input, const fs::path& place, ServerLink& link) {
  Served served;
  const auto patience = std::chrono::seconds(order_.mount_read_timeout_seconds);
  served.source = std::make_unique<LinkSource>(make_link_, backoff_, patience);
  if (input.tree) {
    LATHE_TRY(std::string manifest, link.fetch_tree(*input.tree));
    if (base::sha256(manifest) != *input.tree) return base::fail(base::Code::corrupt, "the manifest is damaged");
    LATHE_TRY(cas::Tree decoded, cas::decode_tree(manifest));
    LATHE_TRY(served.tree, mount::ManifestTree::create(std::move(decoded)));
  } else {
    served.names = std::make_unique<DatastoreNames>(*served.source, order_.workspace, input.datastore);
    served.tree = std::make_unique<mount::LazyTree>(*served.names, input.path);
  }
  LATHE_TRY(sys::Fd device, mounts_->mount_fuse(place));
  auto session = mount::Session::start(std::move(device), *served.tree, *served.source,
                                       {std::max(kCacheBytes / order_.inputs.size(), kLeastCacheBytes), shelf()});
  if (!session) {
    mounts_->unmount(place);
    return base::fail(std::move(session).error());
  }
  served.session = std::move(*session);
  std::lock_guard lock(mutex_);
  served_.push_back(std::move(served));
  return {};
}

// Made by the first mount that needs it. A run works without one, only slower.
mount::ChunkShelf* Inputs::shelf() {
  if (std::exchange(looked_for_shelf_, true) || order_.mount_cache_bytes <= 0) return shelf_.get();
  const fs::path folder =
      order_.mount_cache_folder.empty() ? mount::ChunkShelf::default_folder() : fs::path(order_.mount_cache_folder);
  if (folder.empty()) return nullptr;
  auto opened = mount::ChunkShelf::open(folder, static_cast<std::uint64_t>(order_.mount_cache_bytes));
  if (opened)
    shelf_ = std::move(*opened);
  else
    base::log::warn("no chunk cache on disk", {{"error", opened.error().text()}});
  return shelf_.get();
}

base::Result<void> Inputs::copy_one(const wire::InputOrder& input, const fs::path& place, const Delivery& how) {
  // First at a place of our own, which can be emptied when this has to be repeated.
  const fs::path own = places_.data / "in" / input.name;
  LATHE_TRY_VOID(make_folders(own));
  LATHE_TRY_VOID(copy_to(input, own, how));
  if (place == own) return {};
  if (input.path_on_compute.starts_with('/')) {
    LATHE_TRY_VOID(mounts_->bind(own, place));  // seen there by this run alone
    mounted_.push_back(place);
    return {};
  }
  if (::rename(own.c_str(), place.c_str()) == 0) return {};
  return base::fail(base::Error(base::errno_error(errno, fmt::format("putting it at {}", input.path_on_compute)))
                        .hint("path_on_compute names a folder that is not in the snapshot, or an empty one"));
}

base::Result<void> Inputs::copy_to(const wire::InputOrder& input, const fs::path& folder, const Delivery& how) {
  if (input.tree) return how.copy(how.link, *input.tree, folder, how.keep_going);
  LinkSource source(make_link_, backoff_, base::Duration::max());  // nothing runs yet: a copy waits for its server
  DatastoreNames names(source, order_.workspace, input.datastore);
  return copy_datastore(source, names, input.path, folder, how.keep_going);
}

base::Result<fs::path> Inputs::make_place(const wire::InputOrder& input) {
  fs::path place = places_.data / "in" / input.name;
  if (input.path_on_compute.starts_with('/')) {
    if (!has_namespace_)
      return base::fail(
          base::Error(base::Code::unsupported,
                      fmt::format("an absolute path_on_compute needs a mount namespace: {}", why_no_namespace_))
              .hint("give a path relative to the run folder"));
    place = fs::path(input.path_on_compute).lexically_normal();
  } else if (!input.path_on_compute.empty()) {
    place = (places_.run / input.path_on_compute).lexically_normal();
  }
  if (!place.has_filename()) place = place.parent_path();
  LATHE_TRY_VOID(make_folders(place));
  return place;
}

// Remembers those that are not in folders of ours, to take them away again.
base::Result<void> Inputs::make_folders(const fs::path& folder) {
  std::error_code failed;
  if (fs::is_directory(folder, failed)) return {};
  if (folder.has_parent_path() && folder.parent_path() != folder) LATHE_TRY_VOID(make_folders(folder.parent_path()));
  if (::mkdir(folder.c_str(), 0755) != 0)
    return base::fail(base::errno_error(errno, fmt::format("making {}", folder.string())));
  auto inside = [&](const fs::path& root) { return folder.string().starts_with(root.string() + "/"); };
  if (!inside(places_.data) && !inside(places_.run) && folder != places_.data) made_.push_back(folder);
  return {};
}

void Inputs::set_variables(const wire::InputOrder& input, const std::string& value) {
  for (const char* prefix : {"", "AZUREML_DATAREFERENCE_", "AZURE_ML_INPUT_"}) variables_[prefix + input.name] = value;
}

void Inputs::interrupt() {
  std::lock_guard lock(mutex_);
  for (auto& served : served_) served.source->interrupt();
}

void Inputs::end() {
  for (auto place = mounted_.rbegin(); place != mounted_.rend(); ++place) mounts_->unmount(*place);
  mounted_.clear();
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
  made_.clear();
  std::lock_guard lock(mutex_);
  served_.clear();
}

}  // namespace lathe::runner
