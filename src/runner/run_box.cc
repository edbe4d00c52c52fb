#include "runner/run_box.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/strings.h"
#include "runner/bare_folder.h"
#include "runner/box_paths.h"
#include "runner/log_spool.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

base::Result<void> make_folder(const fs::path& path, const std::optional<sys::ProgramUser>& user) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return base::fail(base::errno_error(errno, fmt::format("making {}", path.string())));
  if (user && ::lchown(path.c_str(), user->user, user->group) != 0)
    return base::fail(base::errno_error(errno, fmt::format("giving {} to the run's user", path.string())));
  return {};
}

// What the log's segments may hold is told when the program is started.
void save_log(int spool, LogRedactor& redactor, const std::string& note, int pipe) {
  LogSpool(fmt::format("/proc/self/fd/{}", spool), base::parse_u64(note).value_or(1 << 26), &redactor).save_rest(pipe);
}

// Where programs and libraries are looked for.
std::vector<fs::path> search_folders(const launch::Variables& environment) {
  std::vector<fs::path> out;
  for (const char* variable : {"PATH", "LD_LIBRARY_PATH"}) {
    auto list = environment.find(variable);
    if (list == environment.end()) continue;
    for (auto folder : base::split(list->second, ':'))
      if (folder.starts_with('/')) out.emplace_back(folder);
  }
  return out;
}

}  // namespace

base::Result<std::unique_ptr<RunBox>> RunBox::start(const wire::BoxRules& rules, const fs::path& work,
                                                    LogRedactor& redactor) {
  std::unique_ptr<RunBox> out(new RunBox(rules, work, redactor));
  LATHE_TRY(out->user_, RunUser::take(rules.run_as));
  LATHE_TRY_VOID(out->make_folders());
  for (const auto& folder : rules.hidden) out->hidden_.emplace_back(folder);
  out->hidden_.push_back(work.parent_path());  // with the folders of other tasks
  const char* home = std::getenv("HOME");
  out->has_own_home_ = out->user_.user || !home || !out->can_see(home);
  auto view = out->make_view();
  // Most of what a run needs is known now, and made while the claim travels.
  for (const auto& folder : out->find_unseen(search_folders(out->inherited()))) view.shown.push_back({folder, folder});
  LATHE_TRY(out->box_, sys::Box::start(view, out->make_options(out->spool_)));
  return out;
}

base::Result<void> RunBox::make_folders() {
  spool_.reset(::open((work_ / "spool").c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!spool_) return base::fail(base::errno_error(errno, "opening the spool"));
  for (const char* name : {"run", "metrics"}) LATHE_TRY_VOID(make_folder(work_ / name, user_.user));
  LATHE_TRY_VOID(make_folder(work_ / "data", {}));
  LATHE_TRY_VOID(make_folder(work_ / "box", {}));
  for (const auto& name : box_folders()) LATHE_TRY_VOID(make_folder(work_ / "box" / name, user_.user));
  return {};
}

sys::BoxView RunBox::make_view() const {
  sys::BoxView view;
  view.hidden = hidden_;
  for (const auto& folder : rules_.shown) view.shown.push_back({folder, folder, true});
  for (const char* name : {"run", "metrics", "data"}) view.shown.push_back({work_ / name, work_ / name, false});
  view.tmp = work_ / "box" / "tmp";
  view.var_tmp = work_ / "box" / "var-tmp";
  view.confinement = {user_.user, static_cast<std::uint64_t>(rules_.processes)};
  view.user_name = user_.name;
  view.home = work_ / "box" / "home";
  if (has_own_home_) view.shown.push_back({view.home, view.home, false});
  return view;
}

sys::Box::Options RunBox::make_options(const sys::Fd& spool) const {
  std::vector<int> keep{spool.get()};
  if (user_.lock) keep.push_back(user_.lock.get());
  return {.keep = std::move(keep),
          .last_words = [folder = spool.get(), &redactor = redactor_](const std::string& note, int pipe) {
            save_log(folder, redactor, note, pipe);
          }};
}

launch::Variables RunBox::inherited() const {
  auto out = launch::allowed_environment(rules_.variables);
  if (has_own_home_) out["HOME"] = work_ / "box" / "home";
  if (!user_.user) return out;
  if (!user_.name.empty()) out["USER"] = out["LOGNAME"] = user_.name;
  out["SHELL"] = "/bin/sh";
  return out;
}

bool RunBox::can_see(const fs::path& path) const {
  auto inside = [&](const fs::path& folder) { return is_inside(path, folder); };
  if (std::ranges::any_of(shown_, inside)) return true;
  for (const char* name : {"run", "data", "metrics"})
    if (inside(work_ / name)) return true;
  if (std::ranges::any_of(hidden_, inside) || inside("/tmp") || inside("/var/tmp")) return false;
  return !user_.user || is_open_to(path, *user_.user);
}

// Short paths first: what is below one that is shown is shown with it.
std::vector<fs::path> RunBox::find_unseen(std::vector<fs::path> folders) {
  // Never a folder that holds one of those that are hidden.
  auto is_wide = [&](const fs::path& path) {
    return std::ranges::any_of(hidden_, [&](const fs::path& folder) { return is_inside(folder, path); });
  };
  for (auto& folder : folders)
    if (fs::path whole = program_folder(folder); !is_wide(whole)) folder = std::move(whole);
  std::ranges::sort(folders, {}, [](const fs::path& path) { return path.native().size(); });
  std::vector<fs::path> out;
  for (const auto& folder : folders) {
    if (can_see(folder) || is_wide(folder) || ::access(folder.c_str(), F_OK) != 0) continue;
    shown_.push_back(folder);
    out.push_back(folder);
  }
  return out;
}

base::Result<void> RunBox::show_programs(const std::string& interpreter, const launch::Variables& environment) {
  auto folders = search_folders(environment);
  if (!interpreter.empty())
    for (auto& folder : folders_of_program(interpreter)) folders.push_back(std::move(folder));
  for (const auto& folder : find_unseen(std::move(folders))) LATHE_TRY_VOID(box_->bind_read_only(folder, folder));
  return {};
}

base::Result<void> RunBox::give_folders() {
  if (!user_.user) return {};
  for (const char* name : {"run", "data"}) LATHE_TRY_VOID(give_tree(work_ / name, *user_.user));
  return {};
}

base::Result<std::unique_ptr<sys::Box>> RunBox::start_engine_box(std::vector<sys::BoxShown> shown,
                                                                 int spool_lock) const {
  sys::BoxView view;
  view.is_confined = false;
  view.hidden = hidden_;
  view.shown = std::move(shown);
  auto options = make_options(spool_);
  options.keep.push_back(spool_lock);
  return sys::Box::start(view, std::move(options));
}

}  // namespace lathe::runner
