#include "server/dataset_files.h"

#include <algorithm>
#include <set>

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
constexpr std::string_view kPatternCharacters = "*?[";

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

std::string DatasetFiles::Source::key() const {
  if (!url.empty()) return url;
  return exact.empty() ? "" : fmt::format("{}\n{}", datastore->name, exact);
}

Task<DatasetFiles> DatasetFiles::open(Core& core, std::string workspace, model::DatasetDefinition definition) {
  DatasetFiles files(core, std::move(definition));
  co_await files.load_datastores(workspace);
  co_await files.plan_sources();
  files.plan_bases();
  files.selection_ = std::make_unique<model::FileSelection>(files.definition_->steps);
  co_return files;
}

Task<void> DatasetFiles::load_datastores(const std::string& workspace) {
  std::set<std::string> names;
  for (const auto& source : definition_->sources)
    if (!source.datastore.empty()) names.insert(source.datastore);
  auto found = co_await core_->database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    std::vector<db::datastores::Datastore> all;
    for (const auto& name : names) all.push_back(get_datastore(connection, workspace, name));
    return all;
  });
  for (auto& datastore : found) {
    require_readable(datastore);
    datastores_.push_back(std::make_unique<db::datastores::Datastore>(std::move(datastore)));
  }
}

const db::datastores::Datastore& DatasetFiles::datastore(const std::string& name) const {
  for (const auto& known : datastores_)
    if (known->name == name) return *known;
  throw Error(Code::internal, "a file of a datastore that the dataset does not have");
}

Task<void> DatasetFiles::plan_sources() {
  std::map<std::string, std::vector<std::string>> plain;  // datastore → paths without a pattern
  for (const auto& wanted : definition_->sources)
    if (wanted.url.empty() && !wanted.path.empty() &&
        wanted.path.find_first_of(kPatternCharacters) == std::string::npos)
      plain[wanted.datastore].push_back(wanted.path);
  std::set<std::pair<std::string, std::string>> files;
  for (const auto& [name, paths] : plain) {
    auto found = co_await are_files(*core_, datastore(name), paths);
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (found[i]) files.emplace(name, paths[i]);
  }
  for (const auto& wanted : definition_->sources) {
    Source source;
    source.url = wanted.url;
    if (wanted.url.empty())
      plan_place(source, datastore(wanted.datastore), wanted.path, files.contains({wanted.datastore, wanted.path}));
    if (auto key = source.key(); key.empty())
      broad_.push_back(sources_.size());
    else
      first_of_.emplace(key, sources_.size());
    sources_.push_back(std::move(source));
  }
}

void DatasetFiles::plan_place(Source& source, const db::datastores::Datastore& place, const std::string& path,
                              bool is_file) {
  source.datastore = &place;
  auto pattern = path.find_first_of(kPatternCharacters);
  if (pattern != path.npos) {
    source.prefix = path.substr(0, pattern);
    source.base = folder_of(source.prefix);
    source.pattern.emplace(path);
  } else if (is_file) {
    source.exact = source.prefix = path;
    source.base = folder_of(path);
  } else if (!path.empty()) {
    source.prefix = source.base = path + "/";
  }
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
bool DatasetFiles::is_repeated(const Source& source, const std::string& path) const {
  auto first = first_of_.find(source.url.empty() ? fmt::format("{}\n{}", source.datastore->name, path) : source.url);
  if (first != first_of_.end() && first->second < source_) return true;
  for (auto index : broad_) {
    if (index >= source_ || !source.url.empty()) return false;
    if (sources_[index].datastore == source.datastore && sources_[index].matches(path)) return true;
  }
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
  if (!is_repeated(sources_[source_], "") && selection_->admits({file.path, file.size})) out.push_back(std::move(file));
  skip_to(source_ + 1);
}

Task<void> DatasetFiles::next_of_datastore(std::vector<DatasetFile>& out, std::size_t limit) {
  const Source& source = sources_[source_];
  // The path itself is the first of those that begin with it.
  const int batch = source.exact.empty() ? kBatch : 1;
  auto found = co_await files_after(*core_, *source.datastore, source.prefix, after_, batch);
  for (auto& stored : found) {
    if (out.size() >= limit || selection_->is_over()) co_return;
    after_ = stored.path;
    if (!source.matches(stored.path) || is_repeated(source, stored.path)) continue;
    DatasetFile file{source.shown_prefix + "/" + stored.path.substr(source.base.size()),
                     static_cast<std::int64_t>(stored.size),
                     "",
                     source.datastore->name,
                     stored.path,
                     stored.digest};
    if (selection_->admits({file.path, file.size, stored.modified})) out.push_back(std::move(file));
  }
  if (found.size() < static_cast<std::size_t>(batch) || !source.exact.empty()) skip_to(source_ + 1);
}

Task<std::vector<DatasetFile>> DatasetFiles::next(std::size_t limit) {
  std::vector<DatasetFile> out;
  for (int looked_at = 0; !is_over() && out.size() < limit && looked_at < kMostLookedAt;) {
    looked_at += sources_[source_].key().empty() ? kBatch : 1;
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
