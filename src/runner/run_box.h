// RunBox: the box (sys/box.h) of one run, made of the site's rules and the task's folders. Of its task folder the run
// sees run/, metrics/, data/ and a home of its own; never the spool. What it needs from places that are hidden, or
// closed to its user, is shown to it read-only: its interpreter with all that belongs to it, programs of its PATH.
// Main thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "launch/launcher.h"
#include "runner/log_redactor.h"
#include "runner/run_user.h"
#include "runner/spool.h"
#include "sys/box.h"
#include "wire/box_rules.h"

namespace lathe::runner {

class RunBox {
 public:
  // Makes the folders that the box needs, and starts to make the box: returns while that goes on. `redactor` is for the
  // last words of the log.
  static base::Result<std::unique_ptr<RunBox>> start(const wire::BoxRules& rules, const std::filesystem::path& work,
                                                     LogRedactor& redactor);

  sys::Box& box() { return *box_; }
  sys::BoxName name() const { return sys::name_process(box_->pid()); }
  // What the run's processes get of the runner's environment.
  launch::Variables inherited() const;
  // Whether the run's user can get there as things are.
  bool can_see(const std::filesystem::path& path) const;
  // Shows what lies elsewhere and is needed to run `interpreter` and the programs of PATH.
  base::Result<void> show_programs(const std::string& interpreter, const launch::Variables& environment);
  // Gives everything in the folders of the task to the run's user; before its first process.
  base::Result<void> give_folders();
  const std::optional<sys::ProgramUser>& user() const { return user_.user; }
  std::int64_t most_processes() const { return rules_.processes; }

  // For a program that makes containers itself: the same folders hidden, with all its rights.
  base::Result<std::unique_ptr<sys::Box>> start_engine_box(std::vector<sys::BoxShown> shown, int spool_lock) const;
  // The box itself goes; nothing was started in it.
  void end() { box_.reset(); }

 private:
  RunBox(wire::BoxRules rules, std::filesystem::path work, LogRedactor& redactor)
      : rules_(std::move(rules)), work_(std::move(work)), redactor_(redactor) {}
  base::Result<void> make_folders();
  sys::BoxView make_view() const;
  sys::Box::Options make_options(const sys::Fd& spool) const;
  // Those that the run does not see yet; from now on they count as shown.
  std::vector<std::filesystem::path> find_unseen(std::vector<std::filesystem::path> folders);

  const wire::BoxRules rules_;
  const std::filesystem::path work_;
  LogRedactor& redactor_;
  RunUser user_;
  bool has_own_home_ = false;
  sys::Fd spool_;  // its folder
  std::vector<std::filesystem::path> hidden_;
  std::vector<std::filesystem::path> shown_;
  std::unique_ptr<sys::Box> box_;
};

}  // namespace lathe::runner
