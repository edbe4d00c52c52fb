// Spool: the folder where a runner keeps what it has not delivered yet (docs/formats/spool.md). Owned by one process at
// a time, proved by a lock on spool.json. Whoever gets the lock knows that the runner is dead; that the processes of the
// run are, too, is known when the first process of its box is gone, which the header names. Lives on the runner's main
// thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "model/run.h"
#include "sys/box.h"
#include "sys/fd.h"
#include "sys/file_system.h"
#include "wire/order.h"

namespace lathe::runner {

inline constexpr int kSpoolFormat = 1;

struct SpoolHeader {
  int format = kSpoolFormat;
  std::string run;
  int attempt = 0, node = 0;
  std::string token;  // the file is readable by its owner only
  // The first process of the run's box (sys/box.h). When it is gone no process of the run is left.
  std::optional<sys::BoxName> box = {};
};

// For what the system keeps under a name for this task: unlike that of any other task on this machine, also of another
// server with a run of the same id, and known to an adopter. At most 150 bytes.
std::string task_label(const SpoolHeader& header);

class Spool {
 public:
  // The folders of a task that every run has; those that an earlier task left bare serve as well.
  static base::Result<void> make_folders(const std::filesystem::path& work);
  // In `work`/spool, with the run folder `work`/run beside it. conflict when there is one already.
  static base::Result<Spool> create(const std::filesystem::path& work, SpoolHeader header,
                                    sys::FileSystem& files = sys::linux_file_system());
  // Takes over what another runner left in `folder`: a spool, or the work folder that holds one. Waits up to `patience`
  // for it and its processes to be gone (else unavailable); a spool of a newer format is unsupported.
  static base::Result<Spool> adopt(const std::filesystem::path& folder, base::Duration patience,
                                   sys::FileSystem& files = sys::linux_file_system());

  const SpoolHeader& header() const { return header_; }
  int lock_fd() const { return lock_.get(); }
  const std::filesystem::path& folder() const { return folder_; }
  // One of a few names, the same for the next task that gets this folder.
  std::string slot() const;
  std::filesystem::path run_folder() const { return folder_.parent_path() / "run"; }
  // Copies and mount points of the inputs; there only when the run has some.
  std::filesystem::path data_folder() const { return folder_.parent_path() / "data"; }

  // What the run's box has to itself: /tmp, /var/tmp, a home.
  std::filesystem::path box_folder() const { return folder_.parent_path() / "box"; }

  // Where the script writes its metric journals.
  std::filesystem::path metrics_folder() const { return folder_.parent_path() / "metrics"; }

  base::Result<void> write_order(const wire::RunnerOrder& order);
  // What an adopter needs is on disk when this returns: the header, the order, and the names on the way to them.
  base::Result<void> sync_start() const;
  // Absent before the claim, and where a power cut has torn it.
  base::Result<std::optional<wire::RunnerOrder>> read_order() const;
  // Whether anything of a run is here, with or without an order: output, files, an exit record.
  bool has_traces() const;

  // For an adopter, should this process be killed. Not on disk, and not to be believed after a power cut: a record must
  // not outlive what it says is there.
  base::Result<void> draft_exit(const model::ExitRecord& exit);
  // On disk when this returns; the room for it was reserved at the start, so a full disk does not stop it. To be called
  // when the log and the files of the run are on disk.
  base::Result<void> write_exit(const model::ExitRecord& exit);
  // Absent when there is none, one that was never completed, or a draft of an earlier start of the machine.
  base::Result<std::optional<model::ExitRecord>> read_exit() const;
  // After write_exit: gives back the rest of the reserve, as room for the last words of the log.
  void release_reserve();

  // The server has acknowledged everything: nothing here is to be delivered again.
  base::Result<void> mark_delivered();
  bool is_delivered() const;
  // Nothing of the task is left but bare folders and empty files, for the provider to use again or to remove. The lock
  // is let go last.
  void remove();

 private:
  bool make_files_bare();
  base::Result<void> put_exit(const model::ExitRecord& exit, std::string_view standing);

  Spool(std::filesystem::path folder, sys::FileSystem& files) : folder_(std::move(folder)), files_(&files) {}

  std::filesystem::path folder_;
  sys::FileSystem* files_;
  SpoolHeader header_;
  sys::Fd lock_;
};

}  // namespace lathe::runner
