// The data of a run: what it reads (inputs) and where what it writes goes (outputs), by names that become variables of
// its process. Plain values; wire/run_data.h gives them their JSON form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::model {

enum class InputMode {
  mount,     // seen read-only, without a copy where that is possible
  download,  // a private copy
  direct,    // only the dataset's id: the script reads it by itself
};
std::string_view input_mode_name(InputMode mode);
std::optional<InputMode> input_mode_from_name(std::string_view name);

struct RunInput {
  std::string dataset;          // id of a saved dataset, or
  std::string datastore, path;  // a place in a datastore; path "" is all of it
  InputMode mode = InputMode::mount;
  std::string path_on_compute;  // where the run sees it; relative to the run folder, or absolute
  bool operator==(const RunInput&) const = default;
};

enum class OutputMode {
  upload,  // when the process has ended
  mount,   // already while it runs
};
std::string_view output_mode_name(OutputMode mode);
std::optional<OutputMode> output_mode_from_name(std::string_view name);

// The version that an output becomes when its run has completed.
struct OutputRegistration {
  std::string name, description;
  std::map<std::string, std::string> tags;
  bool operator==(const OutputRegistration&) const = default;
};

struct RunOutput {
  std::string datastore, path;  // {run-id} in the path stands for the run's id
  OutputMode mode = OutputMode::upload;
  bool overwrite = false;
  std::optional<OutputRegistration> registration;
  bool operator==(const RunOutput&) const = default;
};

using RunInputs = std::map<std::string, RunInput>;
using RunOutputs = std::map<std::string, RunOutput>;

// What a web address gave when it was read for a run.
struct UrlRead {
  std::string url, etag;
  base::Digest digest;
  std::int64_t size = 0;
  bool operator==(const UrlRead&) const = default;
};

// What an input turned out to be, fixed before the run is queued.
struct ResolvedInput {
  std::string dataset_name = {};  // when it is registered
  std::int64_t dataset_version = 0;
  std::optional<base::Digest> tree = {};  // none in direct mode, and of a datastore that is listed as it is read
  std::int64_t files = 0, bytes = 0;
  std::string only_file = {};  // of a tree with one file: its path
  std::vector<UrlRead> urls = {};
  bool operator==(const ResolvedInput&) const = default;
};
using ResolvedInputs = std::map<std::string, ResolvedInput>;

inline constexpr std::size_t kMaxRunData = 100;

// Names, modes and paths; whether datasets and datastores exist is for others to say.
base::Result<void> check_run_data(const RunInputs& inputs, const RunOutputs& outputs);
// Where in its datastore an output of this run goes; no slash at either end.
std::string output_path(const RunOutput& output, std::string_view run_id);

}  // namespace lathe::model
