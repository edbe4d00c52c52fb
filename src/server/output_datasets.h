// Outputs of runs: files that a runner brings become files of a datastore, and a completed run's outputs datasets.
#pragma once

#include "server/core.h"
#include "server/run_changes.h"

namespace lathe::server {

struct OutputFile {
  std::string output;
  std::string path;  // below the output's folder
  base::Digest digest;
  std::int64_t size = 0;
};

// Names the blobs in the datastores of the run's outputs; all of them or, with an error, none. conflict when a file was
// there before the run and is not to be replaced.
rt::Task<void> put_output_files(Core& core, model::RunRecord run, AttemptName name, std::vector<OutputFile> files);

// Inside the transaction that completes the run.
void register_outputs(db::Connection& connection, const model::RunRecord& run, base::UtcTime now);

}  // namespace lathe::server
