// The files of a datastore: list, name blobs as files, remove, read.
#include "db/cursor.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/datastore_writes.h"
#include "server/datastores.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::datastores::Datastore;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::size_t kMaxFilesAtOnce = 10'000;

Task<Datastore> load(Services& services, const Request& request) {
  co_return co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, request.params.at("workspace"));
    return get_datastore(connection, request.params.at("workspace"), request.params.at("datastore"));
  });
}

std::string checked_prefix(const Request& request) {
  auto prefix = request.query_value("prefix").value_or("");
  if (prefix.size() > model::kMaxPathBytes)
    throw Error(Code::invalid, "prefix is longer than any path").field("prefix");
  return prefix;
}

// A reader that steps over a folder goes on behind its last possible name, which no cursor could tell.
std::string checked_after(const Request& request) {
  auto after = request.query_value("after").value_or("");
  if (after.size() > model::kMaxPathBytes + 8)
    throw Error(Code::invalid, "after is longer than any path").field("after");
  return after;
}

json::object show(const StoredFile& file) {
  json::value digest;
  if (file.digest) digest = file.digest->hex();
  return {{"path", file.path},
          {"size", file.size},
          {"digest", std::move(digest)},
          {"modified", base::format_utc(file.modified)}};
}

Task<Response> list_files(Services& services, Request& request) {
  allow_query(request, {"prefix", "after", "limit", "cursor"});
  int limit = page_limit(request);
  auto prefix = checked_prefix(request), cursor = page_cursor(request);
  auto datastore = co_await load(services, request);
  const auto scope = fmt::format("datastore files\n{}\n{}\n{}", datastore.workspace, datastore.name, prefix);
  auto after = cursor.empty() ? checked_after(request) : db::read_cursor(scope, cursor);
  auto files = co_await files_after(services.core, datastore, prefix, after, limit + 1);
  auto page =
      db::make_page(std::move(files), limit, [&](const StoredFile& last) { return db::make_cursor(scope, last.path); });
  json::array items;
  for (const auto& file : page.items) items.push_back(show(file));
  co_return list_response(std::move(items), page.next);
}

struct Upload {
  std::vector<db::datastores::File> files;
  bool overwrite = false;
};

Upload parse_upload(const json::value& body, base::UtcTime now) {
  Upload upload;
  wire::Fields fields(body);
  fields.need("files").boolean("overwrite", upload.overwrite).objects("files", [&](wire::Fields& entry) {
    db::datastores::File file;
    std::optional<base::Digest> digest;
    entry.need("path").need("digest").need("size").text("path", file.path).digest("digest", digest);
    entry.integer("size", file.size);
    file.digest = digest.value_or(base::Digest{});
    file.modified = now;
    upload.files.push_back(std::move(file));
  });
  check(fields.finish());
  if (upload.files.size() > kMaxFilesAtOnce)
    throw Error(Code::too_large,
                fmt::format("{} files in one request; at most {}", upload.files.size(), kMaxFilesAtOnce))
        .field("files");
  for (const auto& file : upload.files) {
    check(model::check_artifact_path("files", file.path));
    check(model::check_range("files", file.size, 0, INT64_MAX));
  }
  return upload;
}

// A script replaces what its own run has written; other files are somebody else's. False for one of others that has
// these bytes already: it stays theirs.
bool may_replace(db::Connection& connection, const db::datastores::Place& place, const db::datastores::File& file,
                 const net::Principal& principal) {
  if (principal.role != net::Role::run) return true;
  auto there = db::datastores::find_file(connection, place, file.path);
  if (!there || there->written_by == principal.run_id) return true;
  if (there->digest == file.digest) return false;
  throw Error(Code::forbidden,
              fmt::format("'{}' is not of run {}, which may not replace it", file.path, principal.run_id))
      .field("files")
      .hint("write it under another name, or declare an output with overwrite=True when the run is submitted");
}

WrittenFiles name_files(db::Connection& connection, const Datastore& datastore, const Upload& upload,
                        const net::Principal& principal) {
  WrittenFiles done;
  const db::datastores::Place place{datastore.workspace, datastore.name};
  get_datastore(connection, datastore.workspace, datastore.name);
  for (const auto& file : upload.files) {
    const bool overwrite = upload.overwrite && may_replace(connection, place, file, principal);
    const bool written = db::datastores::put_file(connection, place, file, overwrite);
    (written ? done.written : done.skipped).push_back(json::string(file.path));
  }
  return done;
}

// The row that says so is there before the first byte. Nobody knows whose the files of a folder are: a script adds, and
// replaces nothing.
Task<WrittenFiles> copy_to_folder(Services& services, const Request& request, const Datastore& datastore,
                                  const Upload& upload) {
  auto& core = services.core;
  const bool is_script = request.principal.role == net::Role::run;
  require_writable(datastore);
  co_await core.database.write([&, caller = caller_of(request), now = core.clock.utc()](db::Connection& connection) {
    audit(connection, caller, now, "datastore.writing", datastore.name, fmt::format("{} files", upload.files.size()));
  });
  auto done = co_await write_local_files(core, datastore, upload.files, upload.overwrite && !is_script);
  if (is_script && upload.overwrite && !done.skipped.empty())
    throw Error(Code::forbidden, fmt::format("'{}' is in the folder already; a run replaces no file there",
                                             std::string_view(done.skipped.front().as_string())))
        .field("files")
        .hint("write it under another name, or declare an output with overwrite=True when the run is submitted");
  co_return done;
}

Task<Response> put_files(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto now = core.clock.utc();
  auto body = co_await json_body(request);
  auto upload = parse_upload(body, now);
  const auto& principal = request.principal;
  std::vector<base::Digest> digests;
  for (auto& file : upload.files) {
    file.written_by = principal.role == net::Role::run ? principal.run_id : std::string();
    digests.push_back(file.digest);
  }
  auto datastore = co_await load(services, request);
  require_readable(datastore);
  co_await services.rights.require_nameable(principal, std::move(digests), "files");
  co_await core.files.run(core.home, [&] { require_file_blobs(core, upload.files); });
  WrittenFiles done;
  if (datastore.kind == "local") done = co_await copy_to_folder(services, request, datastore, upload);
  auto caller = caller_of(request);
  co_await core.database.write([&](db::Connection& connection) {
    if (datastore.kind == "store") done = name_files(connection, datastore, upload, principal);
    audit(connection, caller, now, "datastore.write", datastore.name, fmt::format("{} files", done.written.size()));
  });
  co_return json_response({{"written", std::move(done.written)}, {"skipped", std::move(done.skipped)}});
}

Task<Response> delete_files(Services& services, Request& request) {
  allow_query(request, {"prefix"});
  require_query(request, "prefix");
  auto prefix = checked_prefix(request);
  auto datastore = co_await load(services, request);
  require_readable(datastore);
  if (datastore.kind == "local")
    throw Error(Code::unsupported, "files of a local folder are not removed by Lathe")
        .field("datastore")
        .hint("remove them on the machine itself");
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto removed = co_await core.database.write([&](db::Connection& connection) {
    auto count = db::datastores::remove_files(connection, {datastore.workspace, datastore.name}, prefix);
    audit(connection, caller, now, "datastore.remove", datastore.name, fmt::format("{} files below {}", count, prefix));
    return count;
  });
  co_return json_response({{"removed", removed}});
}

Task<Response> get_content(Services& services, Request& request) {
  allow_query(request, {"path"});
  auto path = require_query(request, "path");
  check(model::check_artifact_path("path", path));
  auto datastore = co_await load(services, request);
  auto& core = services.core;
  auto file = co_await find_file(core, datastore, path);
  if (!file)
    throw Error(Code::not_found, fmt::format("the datastore '{}' has no file '{}'", datastore.name, path))
        .field("path")
        .hint("see: lathe datastore list " + datastore.name);
  auto blob = co_await core.files.run(core.home, [&] {
    return base::value_or_throw(file->digest ? core.store.open(*file->digest)
                                             : open_local(core, datastore).open_file(path));
  });
  Response response;
  auto range = requested_range(request, blob.size());
  describe_range(response, range, blob.size());
  response.headers["content-type"] = "application/octet-stream";
  response.headers["content-disposition"] = "attachment";
  if (file->digest) response.headers["etag"] = "\"" + file->digest->hex() + "\"";
  response.body = net::FileBody{blob.release(), range.offset, range.length};
  co_return response;
}

}  // namespace

void add_datastore_file_routes(net::Router& router, Services& services) {
  const std::string files = "/api/v1/workspaces/{workspace}/datastores/{datastore}/files";
  router.add({"GET", files, "listDatastoreFiles", Permission::read_or_runner, endpoint(services, list_files)});
  router.add({"POST", files, "putDatastoreFiles", Permission::write_or_own_run, endpoint(services, put_files)});
  router.add({"DELETE", files, "deleteDatastoreFiles", Permission::write, endpoint(services, delete_files)});
  router.add(
      {"GET", files + "/content", "getDatastoreFile", Permission::read_or_runner, endpoint(services, get_content)});
}

}  // namespace lathe::server
