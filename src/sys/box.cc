#include "sys/box.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/strings.h"
#include "sys/box_init.h"
#include "sys/process_tree.h"
#include "sys/small_file.h"
#include "sys/socket_message.h"

namespace lathe::sys {
namespace {

const std::string& boot_id() {
  static const std::string kId =
      std::string(base::trim(read_small_file("/proc/sys/kernel/random/boot_id").value_or("")));
  return kId;
}

bool has_threads() {
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

// As fork(2): the child has a copy of this process, which must have one thread.
pid_t clone_process(unsigned long flags) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// In a process with threads the copy might hold a lock of another one for ever. fork(3) takes care of that, so its child
// makes the clone, which becomes our child as well.
pid_t clone_beside_threads(unsigned long flags, const std::function<void()>& child) {
  auto pipe = make_pipe();
  if (!pipe) return -1;
  const pid_t helper = ::fork();
  if (helper == 0) {
    pid_t pid = clone_process(flags | CLONE_PARENT);
    if (pid == 0) child();
    if (pid < 0) pid = -errno;
    ::_exit(::write(pipe->write.get(), &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  if (helper < 0) return -1;
  pipe->write.reset();
  pid_t pid = -EIO;
  (void)!::read(pipe->read.get(), &pid, sizeof pid);
  ::waitpid(helper, nullptr, 0);
  if (pid < 0) errno = -pid;
  return pid < 0 ? -1 : pid;
}

pid_t clone_init(unsigned long flags, const std::function<void()>& child) {
  if (has_threads()) return clone_beside_threads(flags, child);
  const pid_t pid = clone_process(flags);
  if (pid == 0) child();
  return pid;
}

base::Result<Fd> to_memory(const std::string& text) {
  Fd file(::memfd_create("lathe-program", MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail(base::errno_error(errno, "handing over a program"));
  return file;
}

}  // namespace

BoxName name_process(pid_t pid) { return {pid, process_start(pid), boot_id()}; }

Fd open_process(const BoxName& name) {
  if (name.pid <= 0 || name.boot != boot_id()) return {};
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, name.pid, 0)));
  // The order matters: with the pidfd held, the pid cannot be given to another process before the check.
  if (process && process_start(name.pid) != name.start) return {};
  return process;
}

base::Result<std::unique_ptr<Box>> Box::start(const BoxView& view, Options options) {
  LATHE_TRY(SocketPair pair, make_socket_pair());
  prepare_process_tree();
  BoxInit init{.control = pair.theirs.get(),
               .view = view,
               .options = options,
               .is_first = view.is_confined,
               .maps_user = ::geteuid() != 0,
               .user = ::geteuid(),
               .group = ::getegid()};
  unsigned long flags = CLONE_NEWNS;
  if (view.is_confined) flags |= CLONE_NEWPID | CLONE_NEWIPC;
  if (init.maps_user) flags |= CLONE_NEWUSER;
  const pid_t pid = clone_init(flags, [&] { run_init(init); });
  if (pid < 0) {
    const int number = errno;
    const base::Error cause = base::errno_error(number, "making namespaces");
    // Too many for the moment is not the same as not allowed.
    if (number == EAGAIN || number == ENOMEM || number == ENOSPC) return base::fail(base::Code::unavailable, "{}", cause.text());
    return base::fail(base::Code::unsupported, "{}", cause.text());
  }
  return std::unique_ptr<Box>(new Box(pid, std::move(pair.ours)));
}

Box::~Box() {
  if (has_program_) return;
  control_.reset();
  wait_until_gone(kKillLimit);
}

base::Result<void> Box::await_view() {
  if (view_) return *view_;
  auto message = receive_message(control_.get(), kRequestRoom);
  view_ = message ? decode_answer(message->bytes)
                  : base::Result<void>(base::fail(base::Code::io, "the first process of the box was killed"));
  return *view_;
}

base::Result<Fd> Box::ask(char kind, const std::filesystem::path& from, const std::filesystem::path& to) {
  LATHE_TRY_VOID(await_view());
  std::string request(1, kind);
  request.append(from.native()).push_back('\0');
  request += to.native();
  if (request.size() > kRequestRoom) return base::fail(base::Code::too_large, "a path of {} bytes", request.size());
  LATHE_TRY_VOID(send_message(control_.get(), request));
  auto message = receive_message(control_.get(), kRequestRoom);
  if (!message) return base::fail(base::Code::io, "the first process of the box was killed");
  LATHE_TRY_VOID(decode_answer(message->bytes));
  return message->descriptors.empty() ? Fd() : std::move(message->descriptors.front());
}

base::Result<void> Box::bind_read_only(const std::filesystem::path& from, const std::filesystem::path& to) {
  LATHE_TRY_VOID(ask(kBindReadOnly, from, to));
  return {};
}

base::Result<void> Box::bind(const std::filesystem::path& from, const std::filesystem::path& to) {
  LATHE_TRY_VOID(ask(kBind, from, to));
  return {};
}

base::Result<Fd> Box::mount_fuse(const std::filesystem::path& to) { return ask(kMountFuse, {}, to); }

void Box::unmount(const std::filesystem::path& where) {
  if (!has_program_) (void)ask(kUnmount, {}, where);
}

base::Result<void> Box::run(const SpawnRequest& program, int kept_pipe, const std::string& note) {
  LATHE_TRY_VOID(await_view());
  LATHE_TRY(Fd text, to_memory(encode_program(program, note)));
  std::string request(1, kRun);
  std::vector<int> descriptors{text.get()};
  auto add = [&](char use, int fd) {
    if (fd < 0) return;
    request += use;
    descriptors.push_back(fd);
  };
  add(kInput, program.input);
  add(kOutput, program.output);
  add(kError, program.error);
  add(kPipe, kept_pipe);
  for (int group : program.cgroups) add(kGroup, group);
  LATHE_TRY_VOID(send_message(control_.get(), request, descriptors));
  has_program_ = true;
  return {};
}

std::string probe_box() {
  auto box = Box::start({}, {});
  auto ready = box ? (*box)->await_view() : base::fail(box.error());
  return ready ? std::string() : ready.error().text();
}

}  // namespace lathe::sys
