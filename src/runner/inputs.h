// Inputs: brings the data that a run reads to its processes. `mount`: a folder that this machine has already, bound
// read-only; else a FUSE file system whose bytes come from the server; where neither is to be had, a copy. `download`:
// a private copy. Mounts are in a namespace that only the run's processes are in (and, without a box, this runner), so
// nothing of them is left whoever is killed. Main thread, but for interrupt().
#pragma once

#include "launch/launcher.h"
#include "mount/lazy_tree.h"
#include "mount/session.h"
#include "runner/link_source.h"
#include "runner/task.h"
#include "sys/mounts.h"

namespace lathe::runner {

class Inputs {
 public:
  struct Places {
    std::filesystem::path data;  // of our own; made when needed
    std::filesystem::path run;   // the run folder
  };
  Inputs(const Order& order, Places places, LinkFactory make_link, BackoffLimits backoff);
  ~Inputs() { end(); }

  // Mounts are made in there from now on.
  void use(sys::Mounts& mounts);
  // Instead, while this process has one thread: when an input needs a namespace, or somebody else does, it is ours.
  void enter_namespace(bool is_wanted_anyway = false);
  // Where mounts are made.
  sys::Mounts& mounts() { return *mounts_; }
  // Empty where there is one.
  const std::string& why_no_namespace() const { return why_no_namespace_; }
  // Everything that was delivered before is taken away first, so it may be repeated. `copy` puts a tree into a folder.
  base::Result<void> deliver(ServerLink& link, const SnapshotDelivery& copy,
                             const std::function<base::Result<void>()>& keep_going);
  // The paths, for the process.
  const launch::Variables& variables() const { return variables_; }
  // What was done otherwise than asked.
  const std::vector<std::string>& notes() const { return notes_; }
  // From any thread: readers that wait for a server that is away get an error, so that they can be killed.
  void interrupt();
  // No process of the run is left: unmounts everything.
  void end();

 private:
  // A FUSE file system that we serve.
  struct Served {
    std::unique_ptr<LinkSource> source;
    std::unique_ptr<DatastoreNames> names;
    std::unique_ptr<mount::FileTree> tree;
    std::unique_ptr<mount::Session> session;
  };
  struct Delivery {
    ServerLink& link;
    const SnapshotDelivery& copy;
    const std::function<base::Result<void>()>& keep_going;
  };

  base::Result<void> deliver_one(const wire::InputOrder& input, const Delivery& how);
  base::Result<void> mount_one(const wire::InputOrder& input, const std::filesystem::path& place, const Delivery& how);
  base::Result<void> serve(const wire::InputOrder& input, const std::filesystem::path& place, ServerLink& link);
  mount::ChunkShelf* shelf();
  base::Result<void> copy_one(const wire::InputOrder& input, const std::filesystem::path& place, const Delivery& how);
  base::Result<void> copy_to(const wire::InputOrder& input, const std::filesystem::path& folder, const Delivery& how);
  base::Result<std::filesystem::path> make_place(const wire::InputOrder& input);
  base::Result<void> make_folders(const std::filesystem::path& folder);
  void set_variables(const wire::InputOrder& input, const std::string& value);

  const Order& order_;
  const Places places_;
  const LinkFactory make_link_;
  const BackoffLimits backoff_;
  sys::OwnMounts own_mounts_;
  sys::Mounts* mounts_ = &own_mounts_;
  bool has_namespace_ = false;
  std::string why_no_namespace_ = "it was not asked for";
  bool looked_for_shelf_ = false;
  std::unique_ptr<mount::ChunkShelf> shelf_;  // of all that is served; null where there is none
  std::mutex mutex_;                          // of served_, which interrupt() looks at
  std::vector<Served> served_;
  std::vector<std::filesystem::path> mounted_;  // in order
  std::vector<std::filesystem::path> made_;     // folders outside of our own, in order
  launch::Variables variables_;
  std::vector<std::string> notes_;
};

}  // namespace lathe::runner
