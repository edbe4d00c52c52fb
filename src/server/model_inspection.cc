// Looking into a TensorFlow model when it is registered: a wrong folder is told then, not when it is deployed.
#include <sys/mman.h>

#include "model/saved_model.h"
#include "server/model_content.h"

namespace lathe::server {

using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::string_view kGraph = "saved_model.pb";
constexpr std::uint64_t kMaxGraphBytes = std::uint64_t{2} << 30;  // protobuf's own limit

// The folder that holds saved_model.pb ("" or "a/b/"), the shortest when there are several.
std::optional<std::string> find_saved_model(const cas::Tree& tree) {
  std::optional<std::string> found;
  for (const auto& entry : tree.entries) {
    if (entry.path != kGraph && !entry.path.ends_with("/saved_model.pb")) continue;
    std::string folder = entry.path.substr(0, entry.path.size() - kGraph.size());
    if (!found || folder.size() < found->size()) found = std::move(folder);
  }
  return found;
}

const cas::TreeEntry* find_entry(const cas::Tree& tree, std::string_view path) {
  for (const auto& entry : tree.entries)
    if (entry.path == path && entry.link_target.empty()) return &entry;
  return nullptr;
}

bool has_file_with(const cas::Tree& tree, std::initializer_list<std::string_view> endings) {
  for (const auto& entry : tree.entries)
    for (auto ending : endings)
      if (entry.path.ends_with(ending)) return true;
  return false;
}

// A graph can be hundreds of megabytes, of which the parser touches a few pages: mapped, not read. On the pool.
base::Result<model::SavedModelInfo> read_graph(cas::DiskStore& store, const cas::TreeEntry& entry) {
  if (entry.size == 0 || entry.size > kMaxGraphBytes) return model::parse_saved_model("");
  LATHE_TRY(auto blob, store.open(entry.digest));
  // What the manifest says of its size is somebody's word; memory behind the end of a file must never be touched.
  if (blob.size() != entry.size)
    return base::fail(base::Code::corrupt, "saved_model.pb is not as long as its tree says");
  void* bytes = ::mmap(nullptr, entry.size, PROT_READ, MAP_PRIVATE, blob.fd(), 0);
  if (bytes == MAP_FAILED) return base::fail(base::errno_error(errno, "mapping saved_model.pb"));
  auto info = model::parse_saved_model({static_cast<const char*>(bytes), entry.size});
  ::munmap(bytes, entry.size);
  return info;
}

json::array show(const std::vector<model::TensorInfo>& tensors) {
  json::array out;
  for (const auto& tensor : tensors) {
    json::value shape;
    if (tensor.shape) shape = json::array(tensor.shape->begin(), tensor.shape->end());
    out.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", std::move(shape)}});
  }
  return out;
}

json::object show(const model::SavedModelInfo& info, std::string folder) {
  json::array signatures;
  for (const auto& signature : info.signatures)
    signatures.push_back({{"name", signature.name},
                          {"method", signature.method},
                          {"tags", json::array(signature.tags.begin(), signature.tags.end())},
                          {"inputs", show(signature.inputs)},
                          {"outputs", show(signature.outputs)}});
  if (!folder.empty()) folder.pop_back();
  return {{"format", "saved_model"},
          {"path", folder},
          {"tensorflow_version", info.tensorflow_version},
          {"signatures", std::move(signatures)}};
}

std::string what_it_is_instead(const cas::Tree& tree) {
  if (has_file_with(tree, {".ckpt.index", ".meta", "checkpoint"})) return "a training checkpoint";
  if (has_file_with(tree, {".h5", ".hdf5", ".keras"})) return "a Keras file";
  return "something else";
}

}  // namespace

Task<ModelInspection> inspect_model(Core& core, const cas::Tree& tree, const std::string& framework) {
  ModelInspection result;
  if (framework != "TensorFlow") co_return result;
  auto folder = find_saved_model(tree);
  if (!folder) {
    result.warnings.push_back(fmt::format(
        "no saved_model.pb was found: this is {}, not a SavedModel, and cannot be deployed without an entry "
        "script; write it with model.save(folder) or tf.saved_model.save",
        what_it_is_instead(tree)));
    co_return result;
  }
  const auto* graph = find_entry(tree, *folder + std::string(kGraph));
  if (!graph) co_return result;  // a link; its target says it all
  auto info = co_await core.files.run(core.home, [&] { return read_graph(core.store, *graph); });
  if (!info) {
    result.warnings.push_back(fmt::format("{}: {}", graph->path, info.error().message()));
    co_return result;
  }
  result.inspection = show(*info, *folder);
  if (!find_entry(tree, *folder + "variables/variables.index"))
    result.warnings.push_back("the SavedModel has no variables/ folder: were its weights left out?");
  if (info->signatures.empty()) result.warnings.push_back("the SavedModel has no signature that a service could call");
  co_return result;
}

}  // namespace lathe::server
