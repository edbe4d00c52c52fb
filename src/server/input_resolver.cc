#include "server/input_resolver.h"

#include "cas/tree.h"
#include "db/datasets.h"
#include "db/run_inputs.h"
#include "model/names.h"
#include "server/dataset_files.h"
#include "server/materialize.h"
#include "server/registry_tools.h"
#include "wire/dataset.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::InputMode;
using rt::Task;

namespace {

constexpr std::uint64_t kMaxManifest = 4ull << 30;

// "a/b" of "/a/b/"; "" of "." and of "/".
std::string inner_path(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  while (path.starts_with('/')) path.remove_prefix(1);
  return path == "." ? std::string() : std::string(path);
}

void check_dataset(db::Connection& connection, const std::string& workspace, const std::string& field,
                   const std::string& id) {
  check_uuid(field, id);
  if (db::datasets::find(connection, workspace, id)) return;
  throw Error(Code::invalid, fmt::format("workspace '{}' has no saved dataset '{}'", workspace, id))
      .field(field)
      .hint("lathe data list shows the registered ones");
}

// Registered under a name, perhaps: the newest one.
void note_registration(db::Connection& connection, const std::string& workspace, const std::string& id,
                       model::ResolvedInput& out) {
  auto names = db::datasets::registered_as(connection, workspace, id);
  if (names.empty()) return;
  const auto colon = names.back().rfind(':');
  out.dataset_name = names.back().substr(0, colon);
  out.dataset_version = parse_version(names.back().substr(colon + 1));
}

Task<std::string> only_file_of(Core& core, base::Digest tree) {
  auto text =
      co_await core.files.run(core.home, [&] { return base::value_or_throw(core.store.read(tree, kMaxManifest)); });
  co_return base::value_or_throw(cas::decode_tree(text)).entries.at(0).path;
}

Task<void> bring(Core& core, UrlSources& urls, DatasetFiles& files, const PreparationNews& news, rt::CancelToken cancel,
                 model::ResolvedInput& out) {
  auto progress = std::make_shared<TransferProgress>(core.home);
  auto said = [&](const std::string& url, std::int64_t count, std::int64_t bytes) {
    news(url.empty() ? fmt::format("{} files, {} bytes are in the store", count, bytes) : "fetching " + url);
  };
  rt::CancelSubscription stop(cancel, [progress] { progress->cancelled = true; });
  auto done = co_await materialize(core, urls, files, {said, progress, cancel});
  out.tree = done.tree;
  out.files = done.files;
  out.bytes = done.bytes;
  for (const auto& entry : done.urls) out.urls.push_back({entry.url, entry.etag, entry.digest, entry.size});
  if (done.files == 1) out.only_file = co_await only_file_of(core, done.tree);
}

// A datastore that is mounted is listed as it is read; one file of it, and a download, are fixed here.
Task<bool> is_listed_later(Core& core, const db::datastores::Datastore& datastore, const model::RunInput& input) {
  if (input.mode != InputMode::mount) co_return false;
  const auto path = inner_path(input.path);
  co_return path.empty() || !co_await find_file(core, datastore, path);
}

}  // namespace

void check_run_data(db::Connection& connection, const std::string& workspace, const model::RunSpec& spec) {
  for (const auto& [name, input] : spec.inputs) {
    const std::string field = "inputs." + name;
    if (!input.dataset.empty())
      check_dataset(connection, workspace, field + ".dataset", input.dataset);
    else
      require_readable(get_datastore(connection, workspace, input.datastore, field + ".datastore"));
  }
  for (const auto& [name, output] : spec.outputs) {
    const std::string field = fmt::format("outputs.{}.datastore", name);
    auto datastore = get_datastore(connection, workspace, output.datastore, field);
    require_readable(datastore);
    if (datastore.kind == "local" && !datastore.writable)
      throw Error(Code::invalid, fmt::format("the datastore '{}' is only read", datastore.name))
          .field(field)
          .hint("an administrator can register it with \"writable\": true");
    if (output.registration)
      base::value_or_throw(
          model::check_registry_name(fmt::format("outputs.{}.register.name", name), output.registration->name));
  }
}

Task<model::ResolvedInput> resolve_input(Core& core, UrlSources& urls, std::string workspace, model::RunInput input,
                                         PreparationNews news, rt::CancelToken cancel) {
  model::ResolvedInput out;
  if (input.dataset.empty()) {
    auto datastore = co_await core.database.read(
        [&](db::Connection& connection) { return get_datastore(connection, workspace, input.datastore); });
    if (co_await is_listed_later(core, datastore, input)) co_return out;
    model::DatasetDefinition definition{"file", {{"", input.datastore, inner_path(input.path)}}, {}};
    auto files = co_await DatasetFiles::open(core, workspace, std::move(definition));
    co_await bring(core, urls, files, news, cancel, out);
    co_return out;
  }
  auto saved = co_await core.database.read([&](db::Connection& connection) {
    note_registration(connection, workspace, input.dataset, out);
    return db::datasets::get(connection, workspace, input.dataset);
  });
  if (input.mode == InputMode::direct) co_return out;
  auto definition = base::value_or_throw(wire::parse_dataset(stored_json(saved.definition_json)));
  auto files = co_await DatasetFiles::open(core, workspace, std::move(definition));
  co_await bring(core, urls, files, news, cancel, out);
  co_await core.database.write([&](db::Connection& connection) {
    db::datasets::set_content(connection, workspace, input.dataset, {*out.tree, out.files, out.bytes});
    audit(connection, {"server", 0, "preparation"}, core.clock.utc(), "dataset.materialize", input.dataset,
          out.tree->hex());
  });
  co_return out;
}

Task<std::vector<wire::InputOrder>> order_inputs(Core& core, model::RunRecord run, bool is_here) {
  std::vector<wire::InputOrder> out;
  if (run.spec.inputs.empty()) co_return out;
  std::map<std::string, db::datastores::Datastore> local;
  auto resolved = co_await core.database.read([&](db::Connection& connection) {
    for (const auto& [name, input] : run.spec.inputs)
      if (!input.datastore.empty()) local[name] = get_datastore(connection, run.workspace, input.datastore);
    return db::run_inputs::list(connection, run.sequence);
  });
  for (const auto& [name, input] : run.spec.inputs) {
    const auto& known = resolved[name];
    auto& order = out.emplace_back();
    order = {name,
             input.mode,
             input.dataset,
             input.datastore,
             inner_path(input.path),
             known.tree,
             known.only_file,
             input.path_on_compute,
             ""};
    if (input.mode != InputMode::mount || !is_here) continue;
    if (known.tree)
      order.folder =
          co_await core.store_work.run([&] { return base::value_or_throw(core.views.get(*known.tree)).string(); });
    else if (local[name].kind == "local")
      order.folder = (std::filesystem::path(local[name].path) / order.path).string();
  }
  co_return out;
}

}  // namespace lathe::server
