// The files of a dataset: listed, and brought into the store with progress.
#include "db/cursor.h"
#include "db/datasets.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/materialize.h"
#include "server/registry_tools.h"
#include "wire/dataset.h"

namespace lathe::server {

using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

Task<DatasetFiles> open_files(Services& services, const Request& request) {
  const auto &workspace = request.params.at("workspace"), &id = request.params.at("dataset_id");
  check_uuid("dataset_id", id);
  auto saved = co_await services.core.database.read(
      [&](db::Connection& connection) { return db::datasets::get(connection, workspace, id); });
  auto definition = base::value_or_throw(wire::parse_dataset(stored_json(saved.definition_json)));
  co_return co_await DatasetFiles::open(services.core, workspace, std::move(definition));
}

json::object show(const DatasetFile& file) {
  json::object source;
  if (!file.url.empty()) source["url"] = file.url;
  if (!file.datastore.empty()) {
    source["datastore"] = file.datastore;
    source["path"] = file.stored_path;
  }
  if (file.digest) source["digest"] = file.digest->hex();
  json::value size;
  if (file.size) size = *file.size;
  return {{"path", file.path}, {"size", std::move(size)}, {"source", std::move(source)}};
}

Task<Response> list_files(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  auto limit = static_cast<std::size_t>(page_limit(request));
  auto cursor = page_cursor(request);
  auto files = co_await open_files(services, request);
  const auto scope =
      fmt::format("dataset files\n{}\n{}", request.params.at("workspace"), request.params.at("dataset_id"));
  if (!cursor.empty()) files.go_to(db::read_cursor(scope, cursor));
  json::array items;
  for (const auto& file : co_await files.next(limit)) items.push_back(show(file));
  if (files.is_over()) co_return list_response(std::move(items), std::nullopt);
  co_return list_response(std::move(items), db::make_cursor(scope, files.position()));
}

// One materialization, as its request and its stream share it. Home thread.
struct Job {
  Job(Services& all, Request& request, DatasetFiles opened)
      : services(all),
        workspace(request.params.at("workspace")),
        id(request.params.at("dataset_id")),
        caller(caller_of(request)),
        cancel(request.cancel),
        files(std::move(opened)),
        progress(std::make_shared<TransferProgress>(all.core.home)) {}

  Task<json::object> run() {
    auto& core = services.core;
    auto said = [this](const std::string& fetching, std::int64_t seen, std::int64_t bytes) {
      url = fetching;
      file_count = seen;
      stored_bytes = bytes;
      progress->changed.notify();
    };
    auto hold = core.store.hold_leases();  // until the dataset names its tree
    auto done = co_await materialize(core, services.urls, files, {said, progress, cancel});
    auto now = core.clock.utc();
    co_await core.database.write([&](db::Connection& connection) {
      db::datasets::set_content(connection, workspace, id, {done.tree, done.files, done.bytes});
      audit(connection, caller, now, "dataset.materialize", id, done.tree.hex());
    });
    json::array urls;
    for (const auto& entry : done.urls)
      urls.push_back({{"url", entry.url},
                      {"etag", entry.etag.empty() ? json::value() : json::value(entry.etag)},
                      {"digest", entry.digest.hex()},
                      {"size", entry.size}});
    co_return json::object{{"id", id},
                           {"tree", done.tree.hex()},
                           {"files", done.files},
                           {"bytes", done.bytes},
                           {"sources", std::move(urls)}};
  }

  std::string progress_line() const {
    json::object state{{"files", file_count}, {"bytes", stored_bytes}, {"fetched_bytes", progress->bytes.load()}};
    state["url"] = url.empty() ? json::value() : json::value(url);
    return json::serialize(json::object{{"progress", std::move(state)}}) + "\n";
  }

  Services& services;
  std::string workspace, id;
  Caller caller;
  rt::CancelToken cancel;
  DatasetFiles files;
  std::shared_ptr<TransferProgress> progress;
  std::string url;
  std::int64_t file_count = 0, stored_bytes = 0;
  std::string last_line;  // of the stream; empty while the work goes on
};

Task<void> work(std::shared_ptr<Job> job) {
  try {
    auto result = co_await job->run();
    job->last_line = json::serialize(json::object{{"result", std::move(result)}}) + "\n";
  } catch (const Error& error) {
    job->last_line = fmt::format("{{\"error\":{}}}\n", std::get<std::string>(Response::error(error).body));
  }
  job->progress->changed.notify();
}

// Lines of progress until the work is over. A reader that goes away ends the work; it is waited for all the same.
Task<void> stream(std::shared_ptr<Job> job, net::BodyWriter& out) {
  rt::Scope scope;
  std::exception_ptr gone;
  scope.spawn("materialize a dataset", work(job));
  try {
    while (job->last_line.empty()) {
      auto seen = job->progress->changed.version();
      co_await out.write(job->progress_line());
      if (job->last_line.empty()) co_await job->progress->changed.changed(seen, job->cancel);
    }
    co_await out.write(job->last_line);
  } catch (...) {
    gone = std::current_exception();
    job->progress->cancelled = true;
  }
  if (scope.live() > 0) co_await scope.join();
  if (gone) std::rethrow_exception(gone);
}

Task<Response> materialize_dataset(Services& services, Request& request) {
  allow_query(request, {});
  co_await request.text();  // an empty body; read, so that a client that goes away is noticed
  auto job = std::make_shared<Job>(services, request, co_await open_files(services, request));
  if (!request.header("accept").value_or("").contains("application/x-ndjson"))
    co_return json_response(co_await job->run());
  Response response;
  response.headers["content-type"] = "application/x-ndjson";
  response.body = net::StreamBody([job](net::BodyWriter& out) { return stream(job, out); });
  co_return response;
}

}  // namespace

void add_dataset_file_routes(net::Router& router, Services& services) {
  const std::string one = "/api/v1/workspaces/{workspace}/datasets/by-id/{dataset_id}";
  router.add({"POST", one + "/list", "listDatasetFiles", Permission::read, endpoint(services, list_files)});
  router.add({"POST", one + "/materialize", "materializeDataset", Permission::write_or_own_run,
              endpoint(services, materialize_dataset)});
}

}  // namespace lathe::server
