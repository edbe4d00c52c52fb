#include "base/strings.h"
#include "envs/cache.h"
#include "envs/file_lock.h"
#include "envs/image.h"
#include "envs/resources.h"
#include "envs/uv.h"
#include "envs/work_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> site_packages(const fs::path& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored))
    if (fs::is_directory(entry.path() / "site-packages", ignored)) return entry.path() / "site-packages";
  return std::nullopt;
}

}  // namespace

base::Result<void> Cache::compile_bytecode(const base::Digest& lock, const LogSink& log, std::stop_token stop) const {
  // Held, so that it is not removed meanwhile; one at a time is enough.
  LATHE_TRY(auto held, hold(lock));
  LATHE_TRY(auto alone, try_lock(settings_.cache / "locks" / ("bytecode-" + lock.hex()), LockKind::exclusive));
  auto found = find(lock);
  auto site = found ? site_packages(found->prefix) : std::nullopt;
  if (!alone || !site) return {};
  LATHE_TRY(auto work, WorkFolder::make(settings_.cache, "bytecode"));
  const fs::path program = work.path() / "compile_bytecode.py";
  LATHE_TRY_VOID(write_text(program, resource("compile_bytecode.py")));
  const fs::path pool = settings_.cache / "bytecode";
  sys::CommandRequest request{{found->interpreter, "-I", "-B", program.string(), site->string(), pool.string()},
                              tool_environment(settings_),
                              {}};
  std::string last;
  Settings where = settings_;
  where.image = found->image;
  LATHE_TRY(auto result, run_tool(where, std::move(request), [&](std::string_view line) { last = line; }, stop));
  if (result.status != 0)
    return base::fail(base::Code::upstream, "byte code could not be made: {}", base::printable(last));
  log(fmt::format("byte code of {} files is ready", base::trim(result.output)));
  return {};
}

}  // namespace lathe::envs
