// A dataset's definition: where its files are, and which of them belong to it. Pure values; equal definitions choose
// equal files, whoever asks and how often (docs/formats/dataset.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"

namespace lathe::model {

struct DatasetSource {
  std::string url;              // http(s), or
  std::string datastore, path;  // a file, a folder or a pattern; "" is the whole datastore
  bool operator==(const DatasetSource&) const = default;
};

// What a filter can ask about a file.
struct FileFacts {
  std::string_view path;  // as the dataset shows it
  std::optional<std::int64_t> size = {};
  std::optional<base::UtcTime> modified = {};
};

// An expression over one file; docs/formats/dataset.md has its JSON form.
struct FileFilter {
  enum class Op { all, any, none, equal, unequal, less, at_most, more, at_least, begins, ends, contains };
  enum class Fact { path, name, extension, size, modified };
  Op op = Op::all;
  std::vector<FileFilter> parts = {};  // of all, any and none
  Fact fact = Fact::path;              // of the others
  std::variant<std::int64_t, double, std::string> value = std::int64_t{0};

  // A fact that is not known makes every comparison false.
  bool accepts(const FileFacts& file) const;
};

struct FileStep {
  enum class Kind { take, skip, sample, split, filter };
  Kind kind = Kind::take;
  std::int64_t count = 0;  // take, skip
  double probability = 0;  // sample; the share of part 0 of a split
  std::int64_t seed = 0;   // sample, split
  int part = 0;            // split: 0 or 1
  FileFilter filter = {};
};

struct DatasetDefinition {
  std::string kind;  // "file", "tabular"
  std::vector<DatasetSource> sources;
  std::vector<FileStep> steps;  // those that choose files; none of a tabular dataset
};

// Runs a stream of files through the steps. `counts` is all of its state, so that a page can go on where the one before
// it ended.
class FileSelection {
 public:
  FileSelection(const std::vector<FileStep>& steps, std::vector<std::int64_t> counts = {});
  bool admits(const FileFacts& file);
  bool is_over() const { return over_; }  // no later file can be admitted
  const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  bool passes(std::size_t step, const FileFacts& file);
  const std::vector<FileStep>& steps_;
  std::vector<std::int64_t> counts_;
  bool over_ = false;
};

// A number in [0, 1) that depends on nothing but its arguments; what sample and split decide by.
double share_of(std::int64_t seed, std::size_t step, std::string_view path);

}  // namespace lathe::model
