#include "server/output_datasets.h"

#include <boost/json.hpp>

#include "db/datasets.h"
#include "db/events.h"
#include "model/names.h"
#include "server/datastore_writes.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::datastores::Datastore;
using db::datastores::File;
using rt::Task;
namespace json = boost::json;

namespace {

struct Batch {
  Datastore datastore;
  bool overwrite = false;
  std::vector<File> files;
};

const model::RunOutput& output_of(const model::RunRecord& run, const std::string& name) {
  auto found = run.spec.outputs.find(name);
  if (found == run.spec.outputs.end())
    throw Error(Code::invalid, fmt::format("run {} has no output '{}'", run.id.value, name)).field("files");
  return found->second;
}

std::map<std::string, Batch> sort_by_output(const model::RunRecord& run, const std::vector<OutputFile>& files,
                                            base::UtcTime now) {
  std::map<std::string, Batch> batches;
  for (const auto& file : files) {
    const auto& output = output_of(run, file.output);
    auto& batch = batches[file.output];
    batch.overwrite = output.overwrite;
    auto folder = model::output_path(output, run.id.value);
    auto path = folder.empty() ? file.path : folder + "/" + file.path;
    base::value_or_throw(model::check_artifact_path("files", path));
    batch.files.push_back({std::move(path), file.digest, file.size, now, run.id.value});
  }
  return batches;
}

// What this run wrote it may write again: a file that grows is sent more than once. Of a file from before writers were
// noted only its time tells.
bool is_own(const model::RunRecord& run, const File& file) {
  return file.written_by ? *file.written_by == run.id.value : file.modified >= run.created;
}

void put_one(db::Connection& connection, const model::RunRecord& run, const Batch& batch, const File& file) {
  db::datastores::Place place{batch.datastore.workspace, batch.datastore.name};
  auto there = db::datastores::find_file(connection, place, file.path);
  const bool is_others = there && !batch.overwrite && !is_own(run, *there);
  if (is_others && there->digest == file.digest) return;  // it stays theirs
  if (is_others)
    throw Error(Code::conflict, fmt::format("'{}' is in the datastore '{}' already", file.path, batch.datastore.name))
        .field("files")
        .hint("let the output replace it: as_upload(overwrite=True)");
  db::datastores::put_file(connection, place, file, true);
}

Task<void> put_local(Core& core, const AttemptName& name, const Batch& batch) {
  co_await core.database.write([&](db::Connection& connection) {
    audit(connection, {"run " + name.run_id, 0, fmt::format("attempt {}", name.number)}, core.clock.utc(),
          "datastore.writing", batch.datastore.name, fmt::format("{} files", batch.files.size()));
  });
  auto done = co_await write_local_files(core, batch.datastore, batch.files, batch.overwrite);
  if (!done.skipped.empty())
    throw Error(Code::conflict, fmt::format("'{}' is in the datastore '{}' already",
                                            std::string_view(done.skipped.front().as_string()), batch.datastore.name))
        .field("files")
        .hint("let the output replace it: as_upload(overwrite=True)");
}

}  // namespace

Task<void> put_output_files(Core& core, model::RunRecord run, AttemptName name, std::vector<OutputFile> files) {
  auto now = core.clock.utc();
  auto batches = sort_by_output(run, files, now);
  co_await core.database.read([&](db::Connection& connection) {
    for (auto& [output, batch] : batches)
      batch.datastore = get_datastore(connection, run.workspace, output_of(run, output).datastore);
  });
  for (auto& [output, batch] : batches) {
    co_await core.files.run(core.home, [&] { require_file_blobs(core, batch.files); });
    if (batch.datastore.kind == "local") co_await put_local(core, name, batch);
  }
  co_await core.database.write([&](db::Connection& connection) {
    auto live = get_live_run(connection, name);
    for (const auto& [output, batch] : batches)
      if (batch.datastore.kind == "store")
        for (const auto& file : batch.files) put_one(connection, live, batch, file);
    auto detail = fmt::format("{} files", files.size());
    db::events::append_change(connection, live, "outputs", detail, now);
    audit(connection, {"run " + name.run_id, 0, fmt::format("attempt {}", name.number)}, now, "run.outputs",
          name.run_id, detail);
  });
  core.events.notify(name.run_id);
}

void register_outputs(db::Connection& connection, const model::RunRecord& run, base::UtcTime now) {
  for (const auto& [name, output] : run.spec.outputs) {
    if (!output.registration) continue;
    json::object definition{
        {"kind", "file"},
        {"sources", json::array{{{"datastore", output.datastore}, {"path", model::output_path(output, run.id.value)}}}},
        {"steps", json::array()},
        {"options", json::object()}};
    auto text = canonical_json(definition);
    const auto id = uuid_of("dataset\n" + text);
    db::datasets::save(connection, {run.workspace, id, "file", text, now, std::nullopt});
    db::datasets::Version version;
    version.workspace = run.workspace;
    version.name = output.registration->name;
    version.dataset = id;
    version.kind = "file";
    version.definition_json = text;
    version.description = output.registration->description;
    version.tags_json = map_json(output.registration->tags);
    version.created = now;
    version.created_by = run.submitted_by;
    auto newest = db::datasets::find_version(connection, run.workspace, version.name);
    if (newest && newest->dataset == id) continue;
    auto made = db::datasets::register_version(connection, version);
    audit(connection, {"run " + run.id.value, 0, "completed"}, now, "dataset.register",
          fmt::format("{}:{}", made.name, made.version), id);
  }
}

}  // namespace lathe::server
