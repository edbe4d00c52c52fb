#include "cli/call.h"
#include "cli/commands.h"
#include "cli/data_fields.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{
    Argument{.name = "NAME", .help = "the dataset's name"},
    Argument{.name = "SOURCE",
             .help = "a URL, or DATASTORE:PATH with a file, a folder or a pattern like mnist/**/*.gz",
             .repeated = true}};
constexpr std::array kOptions{Option{.name = "description", .value = "TEXT", .help = "what it is"},
                              Option{.name = "tag", .value = "KEY=VALUE", .help = "a tag", .repeated = true},
                              Option{.name = "new-version", .help = "when the name has another definition already"}};
constexpr std::array kExamples{
    Example{"lathe data register mnist http://yann.lecun.com/exdb/mnist/train-images-idx3-ubyte.gz",
            "files of the web"},
    Example{"lathe data register images 'workspaceblobstore:images/**'", "files of a datastore"}};

base::Result<json::object> parse_source(const std::string& text) {
  if (text.starts_with("http://") || text.starts_with("https://")) return json::object{{"url", text}};
  auto colon = text.find(':');
  if (colon == text.npos)
    return base::fail(base::Error(base::Code::invalid, fmt::format("'{}' is neither a URL nor DATASTORE:PATH", text))
                          .hint("send files of this machine first: lathe datastore upload FOLDER"));
  return json::object{{"datastore", text.substr(0, colon)}, {"path", text.substr(colon + 1)}};
}

base::Result<int> register_data(Call& call) {
  json::array sources;
  const auto& typed = call.arguments.positionals;
  for (std::size_t i = 1; i < typed.size(); ++i) {
    LATHE_TRY(auto source, parse_source(typed[i]));
    sources.emplace_back(std::move(source));
  }
  json::object definition{{"kind", "file"}, {"sources", std::move(sources)}};
  json::object save{{"definition", std::move(definition)}};
  LATHE_TRY(auto saved, call.api().send("POST", call.workspace_path({"datasets"}), json::serialize(save)));
  LATHE_TRY(auto dataset, parse_json(saved, "the dataset"));
  LATHE_TRY(auto pairs, call.arguments.pairs("tag"));
  json::object tags;
  for (const auto& [key, value] : pairs) tags[key] = value;
  json::object body{{"id", text_at(dataset, "/id")},
                    {"description", call.arguments.value_or("description", "")},
                    {"tags", std::move(tags)},
                    {"create_new_version", call.arguments.has("new-version")}};
  auto path = call.workspace_path({"datasets", call.argument(0), "versions"});
  LATHE_TRY(auto text, call.api().send("POST", path, json::serialize(body)));
  return call.print_one(text, kDataFields);
}

}  // namespace

constinit const Command kDataRegister{.path = "data register",
                                      .summary = "Register a dataset; it refers to its files, nothing is copied",
                                      .options = kOptions,
                                      .arguments = kArguments,
                                      .examples = kExamples,
                                      .run = register_data};

}  // namespace lathe::cli
