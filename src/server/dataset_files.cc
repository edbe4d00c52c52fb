#include "server/dataset_files.h"

#include <algorithm>

#include "base/strings.h"
#include "cas/tree.h"
#include "db/url_cache.h"
#include "db/workspaces.h"
#include "net/web_url.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr int kBatch = 500;
constexpr int kMostLookedAt = 20'000;  // in one call

std::string folder_of(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == path.npos ? "" : std::string(path.substr(0, slash + 1));
}

// The longest folder that both lie in; each ends with '/' or is empty.
std::string common_folder(std::string_view a, std::string_view b) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i)
    if (a[i] == '/') same = i + 1;
  return std::string(a.substr(0, same));
}

}  // namespace

std::string url_file_path(const std::string& text) {
  auto url = base::value_or_throw(net::parse_web_url(text));
  std::string path = fmt::format("/{}/{}", url.scheme, url.authority());
  for (auto part : base::split(url.path, '/'))
    if (!part.empty() && part != ".") path += fmt::format("/{}", part);
  if (!url.query.empty()) {
    path += "?" + url.query;
    std::replace(path.end() - static_cast<std::ptrdiff_t>(url.query.size()), path.end(), '/', '_');
  }
  if (auto good = cas::check_tree_path(path.substr(1)); !good)
    throw Error(Code::invalid, fmt::format("the URL '{}' cannot be the name of a file", base::printable(text)))
        .field("definition.sources")
        .hint("no '..' in it, and no part longer than 255 bytes");
  return path;
}

bool DatasetFiles::Source::matches(const std::string& path) const {
  if (!exact.empty()) return path == exact;
  return path.starts_with(prefix) && (!pattern || pattern->matches(path));
}

Task<DatasetFiles> DatasetFiles::open(Core& core, std::string workspace, model::DatasetDefinition definition) {
  DatasetFiles files(core, std::move(definition));
  for (const auto& source : files.definition_->sources) {
    bool is_known =
        std::ranges::any_of(files.datastores_, [&](const auto& known) { return known->name == source.datastore; });
    if (source.datastore.empty() || is_known) continue;
    auto found = co_await core.database.read([&](db::Connection& connection) {
      db::workspaces::get(connection, workspace);
      return get_datastore(connection, workspace, source.datastore);
    });
    require_readable(found);
    files.datastores_.push_back(std::make_unique<db::datastores::Datastore>(std::move(found)));
  }
  for (const auto& source : files.definition_->sources) co_await files.plan_source(source);
  files.plan_bases();
  files.selection_ = std::make_unique<model::FileSelection>(files.definition_->steps);
  co_return files;
}

const db::datastores::Datastore& DatasetFiles::datastore(const std::string& name) const {
  for (const auto& known : datastores_)
    if (known->name == name) return *known;
  throw Error(Code::internal, "a file of a datastore that the dataset does not have");
}

Task<void> DatasetFiles::plan_source(const model::DatasetSource& wanted) {
  Source source;
  source.url = wanted.url;
  if (!wanted.url.empty()) {
    sources_.push_back(std::move(source));
    co_return;
  }
  source.datastore = &datastore(wanted.datastore);
  auto glob = wanted.path.find_first_of("*?[");
  if (glob != wanted.path.npos) {
    source.prefix = wanted.path.substr(0, glob);
    source.base = folder_of(source.prefix);
    source.pattern.emplace(wanted.path);
  } else if (!wanted.path.empty() && co_await find_file(*core_, *source.datastore, wanted.path)) {
    source.exact = source.prefix = wanted.path;
    source.base = folder_of(wanted.path);
  } else if (!wanted.path.empty()) {
    source.prefix = source.base = wanted.path + "/";
  }
  sources_.push_back(std::move(source));
}

// Files are shown relative to the folder that a source names; several sources of one datastore to what they share, so
// that equal names in two folders stay apart. More than one datastore: each below its own name.
void DatasetFiles::plan_bases() {
  for (const auto& datastore : datastores_) {
    std::optional<std::string> base;
    for (const auto& source : sources_)
      if (source.datastore == datastore.get()) base = base ? common_folder(*base, source.base) : source.base;
    for (auto& source : sources_)
      if (source.datastore == datastore.get()) {
        source.base = base.value_or("");
        if (datastores_.size() > 1) source.shown_prefix = "/" + datastore->name;
      }
  }
}

// Whether an earlier source has given this file.
bool DatasetFiles::is_repeated(const std::string& path) const {
  for (std::size_t i = 0; i < source_; ++i)
    if (sources_[i].datastore == sources_[source_].datastore && sources_[i].matches(path)) return true;
  return false;
}

void DatasetFiles::skip_to(std::size_t source) {
  source_ = source;
  after_.clear();
}

Task<void> DatasetFiles::next_of_url(std::vector<DatasetFile>& out) {
  const auto& url = sources_[source_].url;
  auto known =
      co_await core_->database.read([&](db::Connection& connection) { return db::url_cache::find(connection, url); });
  DatasetFile file{url_file_path(url), std::nullopt, url, "", "", std::nullopt};
  if (known) file.size = known->size;
  bool is_repeated = false;
  for (std::size_t i = 0; i < source_; ++i) is_repeated = is_repeated || sources_[i].url == url;
  if (!is_repeated && selection_->admits({file.path, file.size})) out.push_back(std::move(file));
  skip_to(source_ + 1);
}

Task<void> DatasetFiles::next_of_datastore(std::vector<DatasetFile>& out, std::size_t limit) {
  const Source& source = sources_[source_];
  auto found = co_await files_after(*core_, *source.datastore, source.prefix, after_, kBatch);
  for (auto& stored : found) {
    if (out.size() >= limit || selection_->is_over()) co_return;
    after_ = stored.path;
    if (!source.matches(stored.path) || is_repeated(stored.path)) continue;
    DatasetFile file{source.shown_prefix + "/" + stored.path.substr(source.base.size()),
                     static_cast<std::int64_t>(stored.size),
                     "",
                     source.datastore->name,
                     stored.path,
                     stored.digest};
    if (selection_->admits({file.path, file.size, stored.modified})) out.push_back(std::move(file));
  }
  if (found.size() < kBatch || !source.exact.empty()) skip_to(source_ + 1);
}

Task<std::vector<DatasetFile>> DatasetFiles::next(std::size_t limit) {
  std::vector<DatasetFile> out;
  for (int looked_at = 0; !is_over() && out.size() < limit && looked_at < kMostLookedAt; looked_at += kBatch) {
    if (!sources_[source_].url.empty())
      co_await next_of_url(out);
    else
      co_await next_of_datastore(out, limit);
  }
  co_return out;
}

std::string DatasetFiles::position() const {
  return fmt::format("{}:{}:{}", source_, fmt::join(selection_->counts(), ","), after_);
}

void DatasetFiles::go_to(std::string_view position) {
  auto first = position.find(':');
  auto second = first == position.npos ? first : position.find(':', first + 1);
  auto source = base::parse_u64(position.substr(0, first));
  if (second == position.npos || !source) throw Error(Code::invalid, "this cursor is of another list").field("cursor");
  std::vector<std::int64_t> counts;
  for (auto text : base::split(position.substr(first + 1, second - first - 1), ','))
    counts.push_back(static_cast<std::int64_t>(base::parse_u64(text).value_or(0)));
  selection_ = std::make_unique<model::FileSelection>(definition_->steps, std::move(counts));
  source_ = static_cast<std::size_t>(*source);
  after_ = position.substr(second + 1);
}

}  // namespace lathe::server
