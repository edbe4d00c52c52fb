// Box: a program of somebody else among our own, with nothing of ours in sight. It lives in namespaces of its own: it
// sees its own processes only; the folders that are hidden are empty, but for what is shown in them; /tmp, /var/tmp and
// /dev/shm are its own. Process 1 in there is our guardian (sys/guardian.h): when we die it kills everybody, reaps, says
// its last words, and ends; when it is killed the kernel kills everybody. It is gone when, and only when, all are, so
// its pid and start time (BoxName) are what a third process has to wait for.
//
// It is made in two steps, so that the first can be done while one waits for something else: start() makes the
// namespaces and the view, show() and its companions add to it, run() starts the program. A box that was told nothing
// ends with us and has started nothing. Needs root, or user namespaces; see probe_box().
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sys/confinement.h"
#include "sys/fd.h"
#include "sys/guardian.h"
#include "sys/mounts.h"

namespace lathe::sys {

// What a program sees at `to`: what others see at `from`, with everything that is mounted below.
struct BoxShown {
  std::filesystem::path from, to;
  bool read_only = true;
};

// What a program in a box sees, and what it may do.
struct BoxView {
  // Without: its processes are among all others, and it keeps all rights. For programs that make containers themselves.
  bool is_confined = true;
  std::vector<std::filesystem::path> hidden;  // folders; those that do not exist are passed over
  std::vector<BoxShown> shown;
  std::filesystem::path tmp, var_tmp;  // folders that become /tmp and /var/tmp; empty: those of the machine
  Confinement confinement;
  std::string user_name;  // of confinement.user, in its own /etc/passwd and /etc/group; empty: it needs none
  std::filesystem::path home;
};

// One process for ever, also after its pid was used again and the machine was started again.
struct BoxName {
  pid_t pid = 0;
  std::string start, boot;  // start time as in sys/process_tree.h, id of the boot
  bool operator==(const BoxName&) const = default;
};
BoxName name_process(pid_t pid);
// A pidfd of it; none when it is gone.
Fd open_process(const BoxName& name);

class Box final : public Guardian, public Mounts {
 public:
  struct Options {
    // Descriptors that process 1 holds as long as it lives.
    std::vector<int> keep = {};
    // Said by process 1 when it has outlived us and killed the rest; gets what run() was told. It sees the view, so
    // files must be reached through kept descriptors.
    std::function<void(const std::string& note, int pipe)> last_words = {};
  };
  // On any thread. Returns before the view is made: the first call below says how that went.
  static base::Result<std::unique_ptr<Box>> start(const BoxView& view, Options options);
  ~Box() override;

  // Whether the view could be made; unsupported where the kernel, or who configured it, refuses. Waits for it.
  base::Result<void> await_view();

  base::Result<void> bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to) override;
  base::Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to) override;
  base::Result<Fd> mount_fuse(const std::filesystem::path& to) override;
  void unmount(const std::filesystem::path& where) override;

  // Once, and last. The program's descriptors are copied; `kept_pipe` is held by process 1 for its last words. Whether
  // the program was started is in the report.
  base::Result<void> run(const SpawnRequest& program, int kept_pipe, const std::string& note);

 private:
  Box(pid_t pid, Fd control) : Guardian(pid, std::move(control)) {}
  base::Result<Fd> ask(char kind, const std::filesystem::path& from, const std::filesystem::path& to);
  std::optional<base::Result<void>> view_;  // once process 1 has told
  bool has_program_ = false;
};

// Whether boxes can be made here by this user: empty, or why not. Takes a few milliseconds; makes one and ends it.
std::string probe_box();

}  // namespace lathe::sys
