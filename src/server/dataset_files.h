// DatasetFiles: the files that a definition means, in order, a bounded piece at a time. It reads names only: nothing is
// fetched. Home thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cas/wildcard.h"
#include "model/dataset.h"
#include "server/datastores.h"

namespace lathe::server {

struct DatasetFile {
  std::string path;  // as the dataset shows it: "/train/a.csv", "/http/host/path"
  std::optional<std::int64_t> size;
  std::string url;  // or
  std::string datastore, stored_path;
  std::optional<base::Digest> digest;
};

// "/http/host/path"; throws invalid for a URL that cannot be a file's name.
std::string url_file_path(const std::string& url);

class DatasetFiles {
 public:
  // Throws not_found for a datastore that is gone.
  static rt::Task<DatasetFiles> open(Core& core, std::string workspace, model::DatasetDefinition definition);

  // Goes on from a position that position() gave.
  void go_to(std::string_view position);
  // At most `limit` files; fewer, even none, before the end: the work of one call is bounded.
  rt::Task<std::vector<DatasetFile>> next(std::size_t limit);
  bool is_over() const { return source_ >= sources_.size() || selection_->is_over(); }
  std::string position() const;
  const db::datastores::Datastore& datastore(const std::string& name) const;

 private:
  struct Source {
    std::string url;  // or
    const db::datastores::Datastore* datastore = nullptr;
    std::string prefix;  // all names that can match begin so
    std::string exact;   // one file
    std::optional<cas::Wildcard> pattern;
    std::string base;  // what is cut off in front: a folder with its slash, or nothing
    std::string shown_prefix;
    bool matches(const std::string& path) const;
    std::string key() const;  // of a URL and of one file; else empty
  };
  DatasetFiles(Core& core, model::DatasetDefinition definition)
      : core_(&core), definition_(std::make_unique<model::DatasetDefinition>(std::move(definition))) {}
  rt::Task<void> load_datastores(const std::string& workspace);
  rt::Task<void> plan_sources();
  static void plan_place(Source& source, const db::datastores::Datastore& place, const std::string& path, bool is_file);
  void plan_bases();
  bool is_repeated(const Source& source, const std::string& path) const;
  rt::Task<void> next_of_url(std::vector<DatasetFile>& out);
  rt::Task<void> next_of_datastore(std::vector<DatasetFile>& out, std::size_t limit);
  void skip_to(std::size_t source);

  Core* core_;
  std::unique_ptr<model::DatasetDefinition> definition_;  // does not move: selection_ looks at it
  std::vector<std::unique_ptr<db::datastores::Datastore>> datastores_;
  std::vector<Source> sources_;
  std::vector<std::size_t> broad_;               // of sources_: folders and patterns
  std::map<std::string, std::size_t> first_of_;  // a URL, or datastore and path of one file → the first that names it
  std::unique_ptr<model::FileSelection> selection_;
  std::size_t source_ = 0;
  std::string after_;  // the last name that was looked at in this source
};

}  // namespace lathe::server
