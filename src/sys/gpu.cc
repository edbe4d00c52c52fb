#include "sys/gpu.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "base/strings.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

constexpr const char* kInventoryVariable = "LATHE_GPU_INVENTORY";

// The few entry points of NVML that we need, with the shapes that its stable interface documents.
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlUtilization {
  unsigned int gpu, memory;
};
using NvmlDevice = struct NvmlDeviceTag*;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned int*) = nullptr;
  int (*by_index)(unsigned int, NvmlDevice*) = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned int) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned int) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;

  bool load(void* library) {
    auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      return function != nullptr;
    };
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") && find(count, "nvmlDeviceGetCount_v2") &&
           find(by_index, "nvmlDeviceGetHandleByIndex_v2") && find(by_uuid, "nvmlDeviceGetHandleByUUID") &&
           find(uuid, "nvmlDeviceGetUUID") && find(name, "nvmlDeviceGetName") &&
           find(memory, "nvmlDeviceGetMemoryInfo") && find(utilization, "nvmlDeviceGetUtilizationRates");
  }
};

class NvmlInventory : public GpuInventory {
 public:
  // Null when there is no driver, or one too old to have these entry points.
  static std::unique_ptr<NvmlInventory> open() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return nullptr;
    Nvml nvml;
    if (nvml.load(library) && nvml.init() == 0) return std::unique_ptr<NvmlInventory>(new NvmlInventory(library, nvml));
    ::dlclose(library);
    return nullptr;
  }
  ~NvmlInventory() override {
    nvml_.shutdown();
    ::dlclose(library_);
  }

  std::vector<GpuDevice> devices() override {
    std::vector<GpuDevice> out;
    unsigned int count = 0;
    if (nvml_.count(&count) != 0) return out;
    for (unsigned int index = 0; index < count; ++index) {
      NvmlDevice device = nullptr;
      char uuid[96] = {}, name[96] = {};
      NvmlMemory memory{};
      if (nvml_.by_index(index, &device) != 0 || nvml_.uuid(device, uuid, sizeof uuid) != 0) continue;
      nvml_.name(device, name, sizeof name);
      nvml_.memory(device, &memory);
      out.push_back({uuid, name, static_cast<std::int64_t>(memory.total)});
    }
    return out;
  }

  base::Result<GpuUse> use(const std::string& uuid) override {
    NvmlDevice device = nullptr;
    NvmlMemory memory{};
    NvmlUtilization utilization{};
    if (nvml_.by_uuid(uuid.c_str(), &device) != 0) return base::fail(base::Code::not_found, "no GPU {}", uuid);
    if (nvml_.memory(device, &memory) != 0) return base::fail(base::Code::io, "GPU {} does not tell its memory", uuid);
    nvml_.utilization(device, &utilization);  // some virtual GPUs do not tell; 0 then
    return GpuUse{static_cast<std::int64_t>(memory.used), utilization.gpu / 100.0};
  }

 private:
  NvmlInventory(void* library, const Nvml& nvml) : library_(library), nvml_(nvml) {}
  void* library_;
  Nvml nvml_;
};

// Reads its file at every call, so that a test can change what the devices do.
class FileInventory : public GpuInventory {
 public:
  explicit FileInventory(std::string path) : path_(std::move(path)) {}

  std::vector<GpuDevice> devices() override {
    std::vector<GpuDevice> out;
    for (const auto& row : rows()) out.push_back({row.uuid, "stand-in", row.memory});
    return out;
  }

  base::Result<GpuUse> use(const std::string& uuid) override {
    for (const auto& row : rows())
      if (row.uuid == uuid) return GpuUse{row.used, static_cast<double>(row.percent) / 100.0};
    return base::fail(base::Code::not_found, "no GPU {}", uuid);
  }

 private:
  struct Row {
    std::string uuid;
    std::int64_t memory, used, percent;
  };
  std::vector<Row> rows() {
    std::vector<Row> out;
    std::string text = read_small_file(path_).value_or("");
    for (auto line : base::split(text, '\n')) {
      auto words = base::split(base::trim(line), ' ');
      if (words[0].empty()) continue;
      auto number = [&](std::size_t at) {
        return static_cast<std::int64_t>(at < words.size() ? base::parse_u64(words[at]).value_or(0) : 0);
      };
      out.push_back({std::string(words[0]), number(1), number(2), number(3)});
    }
    return out;
  }
  std::string path_;
};

class NoGpus : public GpuInventory {
 public:
  std::vector<GpuDevice> devices() override { return {}; }
  base::Result<GpuUse> use(const std::string& uuid) override {
    return base::fail(base::Code::not_found, "no GPU {}", uuid);
  }
};

}  // namespace

std::unique_ptr<GpuInventory> open_gpu_inventory() {
  if (const char* path = std::getenv(kInventoryVariable); path && *path) return std::make_unique<FileInventory>(path);
  if (auto nvml = NvmlInventory::open()) return nvml;
  return std::make_unique<NoGpus>();
}

bool machine_may_have_gpu() {
  const char* path = std::getenv(kInventoryVariable);
  return (path && *path) || ::access("/proc/driver/nvidia/version", F_OK) == 0;
}

}  // namespace lathe::sys
