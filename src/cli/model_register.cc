#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/local_files.h"
#include "cli/model_fields.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{Argument{.name = "NAME", .help = "the model's name"},
                                Argument{.name = "PATH",
                                         .help = "a file or folder here; with --run or --datastore, one there",
                                         .completes = Completes::file}};
constexpr std::array kOptions{
    Option{.name = "run", .value = "RUN", .help = "the run whose file or folder PATH is, e.g. outputs/model"},
    Option{.name = "datastore", .value = "NAME", .help = "the datastore whose file or folder PATH is"},
    Option{.name = "framework", .value = "NAME", .help = "e.g. TensorFlow, ScikitLearn, Onnx, Custom"},
    Option{.name = "framework-version", .value = "VERSION", .help = "e.g. 2.2"},
    Option{.name = "description", .value = "TEXT", .help = "what it is"},
    Option{.name = "tag", .value = "KEY=VALUE", .help = "a tag", .repeated = true},
    Option{.name = "property", .value = "KEY=VALUE", .help = "a property, which never changes", .repeated = true}};
constexpr std::array kExamples{
    Example{"lathe model register tf-mnist outputs/model --run mnist_1550603179_109029bb --framework TensorFlow",
            "register what a run has left"},
    Example{"lathe model register digits ./model.pkl", "register a file of this machine"}};

std::string make_uuid() {
  std::string hex = base::to_hex(base::random_bytes(16));
  hex[12] = '4';
  hex[16] = '8';
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20));
}

// Says where the bytes are; sends them first when they are here.
base::Result<void> add_content(Call& call, json::object& body) {
  auto run = call.arguments.find("run"), datastore = call.arguments.find("datastore");
  if (run) body["run"] = *run;
  if (datastore) body["datastore"] = *datastore;
  if (run || datastore) {
    body["path"] = call.argument(1);
    return {};
  }
  LATHE_TRY(auto files, read_local_files(call.argument(1)));
  if (files.files.empty())
    return base::fail(base::Error(base::Code::invalid, fmt::format("{} has no files", call.argument(1)))
                          .hint("give a file, or a folder with files"));
  LATHE_TRY(auto tree, send_tree(call.api(), files));
  body["tree"] = tree.hex();
  return {};
}

base::Result<json::object> pairs(const Call& call, std::string_view option) {
  LATHE_TRY(auto typed, call.arguments.pairs(option));
  json::object out;
  for (const auto& [key, value] : typed) out[key] = value;
  return out;
}

base::Result<int> register_model(Call& call) {
  json::object body{{"id", make_uuid()}, {"name", call.argument(0)}};
  for (auto [option, field] : {std::pair("framework", "framework"), std::pair("framework-version", "framework_version"),
                               std::pair("description", "description")})
    if (auto value = call.arguments.find(option)) body[field] = *value;
  LATHE_TRY(body["tags"], pairs(call, "tag"));
  LATHE_TRY(body["properties"], pairs(call, "property"));
  LATHE_TRY_VOID(add_content(call, body));
  LATHE_TRY(auto text, call.api().send("POST", call.workspace_path({"models"}), json::serialize(body)));
  return call.print_one(text, kModelFields);
}

}  // namespace

constinit const Command kModelRegister{.path = "model register",
                                       .summary = "Register a model: a new version of its name",
                                       .options = kOptions,
                                       .arguments = kArguments,
                                       .examples = kExamples,
                                       .run = register_model};

}  // namespace lathe::cli
