#include "runner/container.h"

#include "base/log.h"
#include "base/strings.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

constexpr int kEngineFailed = 125, kKilled = 128 + 9;

std::vector<envs::Bind> binds_of(const envs::Realised& environment, const Spool& spool) {
  std::vector<envs::Bind> out{{spool.run_folder(), false}, {spool.metrics_folder(), false}};
  std::error_code ignored;
  if (fs::exists(spool.data_folder(), ignored)) out.push_back({spool.data_folder(), false});
  if (!environment.prefix.empty()) out.push_back({environment.prefix, true});
  return out;
}

// What the box would do for the program, the engine does.
void confine(envs::ContainerRun& run, const RunBox& box, const Spool& spool) {
  run.is_confined = true;
  run.processes = box.most_processes();
  if (!box.user()) return;
  run.user = fmt::format("{}:{}", box.user()->user, box.user()->group);
  run.home = spool.box_folder() / "home";
  run.binds.push_back({run.home, false});
}

}  // namespace

base::Result<Container> Container::of(const SpoolHeader& header, const std::string& engine) {
  LATHE_TRY(auto found, envs::ContainerEngine::find(engine));
  return Container(std::move(found), task_label(header) + "-box");
}

launch::ProcessSpec Container::wrap(const launch::ProcessSpec& spec, const envs::Realised& environment,
                                    const Spool& spool, const Order& order,
                                    const RunBox* box) {
  envs::ContainerRun run;
  prefix_ = environment.prefix;
  run.image = environment.image;
  run.name = name_;
  run.is_kept = true;
  run.binds = binds_of(environment, spool);
  run.directory = spec.directory;
  run.argv = spec.argv;
  run.arguments = environment.engine_arguments;
  run.all_gpus = !order.slice.gpus.empty();
  if (order.enforce_memory && order.slice.memory_bytes > 0) {
    auto group = sys::Cgroup::create(name_, {order.slice.memory_bytes, order.slice.millicores});
    if (group)
      run.cgroup = group_.emplace(std::move(*group)).path();
    else
      base::log::warn("no cgroup: the memory limit is not enforced", {{"error", group.error().text()}});
  }
  if (box) confine(run, *box, spool);
  for (const auto& [name, value] : spec.environment)
    if (envs::has_meaning_in_images(name)) run.variables.push_back(name);
  // The programs of the environment come before those of the image, whose PATH only the image knows; "python", as the
  // SDK writes when nothing is said, means whichever it has.
  const auto folder = fs::path(environment.interpreter).parent_path();
  if (folder.is_absolute())
    run.argv.insert(run.argv.begin(),
                    {"/bin/sh", "-c", "PATH=\"$0:$PATH\"; export PATH; exec \"$@\"", folder.string()});
  else if (run.argv.front() == "python")
    run.argv.insert(run.argv.begin(),
                    {"/bin/sh", "-c", "command -v python >/dev/null || exec python3 \"$@\"; exec python \"$@\""});
  return {.argv = engine_.command(run), .environment = spec.environment, .directory = "/"};
}

std::vector<sys::BoxShown> Container::shown(const Spool& spool) const {
  std::vector<sys::BoxShown> out;
  for (const auto& folder : {spool.run_folder(), spool.metrics_folder(), spool.data_folder(), spool.box_folder() / "home"})
    out.push_back({folder, folder, false});
  if (!prefix_.empty()) out.push_back({prefix_, prefix_, true});
  return out;
}

void Container::explain(model::ExitRecord& exit, const Order& order) const {
  if (exit.reason != model::EndReason::exited) return;
  if (exit.exit_code == kEngineFailed) {
    exit.reason = model::EndReason::start_failed;
    exit.message = "the container could not be started; the end of the log says why";
  } else if (exit.exit_code == kKilled && group_ && group_->reached_memory_limit()) {
    exit.reason = model::EndReason::out_of_memory;
    exit.message = fmt::format("killed at the memory limit of {}",
                               base::human_bytes(static_cast<std::uint64_t>(order.slice.memory_bytes)));
  }
}

void Container::remove() {
  engine_.remove(name_);
  sys::Cgroup::end_tree(name_, sys::kKillLimit);
  group_.reset();
}

}  // namespace lathe::runner
