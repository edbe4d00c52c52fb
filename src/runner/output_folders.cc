#include "runner/output_folders.h"

#include "runner/bare_folder.h"

namespace lathe::runner {
namespace {

std::string folder_of(const wire::OutputOrder& output) { return fmt::format("{}/{}", kOutputTop, output.name); }

}  // namespace

std::vector<std::string> kept_folders_of(const Order& order) {
  auto out = kept_folders();
  for (const auto& output : order.outputs) out.push_back(folder_of(output));
  return out;
}

std::vector<std::string> live_folders_of(const Order& order) {
  auto out = kept_folders();
  for (const auto& output : order.outputs)
    if (output.mode == model::OutputMode::mount) out.push_back(folder_of(output));
  return out;
}

base::Result<launch::Variables> make_output_folders(const Order& order, const std::filesystem::path& run_folder) {
  launch::Variables out;
  for (const auto& output : order.outputs) {
    const auto folder = run_folder / folder_of(output);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return base::fail(base::errno_error(failed.value(), fmt::format("making {}", folder.string())));
    for (const char* prefix : {"", "AZUREML_DATAREFERENCE_", "AZURE_ML_OUTPUT_"}) out[prefix + output.name] = folder;
  }
  return out;
}

}  // namespace lathe::runner
