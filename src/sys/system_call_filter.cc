// The filter of Confinement: a list of system calls that answer "not permitted". It lists what is refused, not what is
// allowed: a run is any program, and the list holds only what needs privileges that a run does not have, or what has
// let programs out of such boxes before.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "sys/confinement.h"

namespace lathe::sys {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kForeignCalls = 0x40000000;  // numbers of the x32 interface begin here
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kForeignCalls = 0x80000000;
#else
#error "which system calls does this processor have?"
#endif

constexpr std::uint32_t kRefused[] = {
    // mounts and namespaces
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig,
    SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_chroot,
    // the machine
    SYS_reboot, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_swapon,
    SYS_swapoff, SYS_acct, SYS_quotactl, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_sethostname,
    SYS_setdomainname, SYS_syslog, SYS_vhangup, SYS_nfsservctl, SYS_lookup_dcookie,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_uselib,
#endif
    // ways around the rights of files and processes, and large doors into the kernel
    SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_open_by_handle_at, SYS_userfaultfd,
    SYS_fanotify_init, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};

constexpr std::uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                      CLONE_NEWPID | CLONE_NEWNET | 0x80 /* CLONE_NEWTIME */;

constexpr std::size_t kHead = 4, kTail = 9;
constexpr std::size_t kLength = kHead + std::size(kRefused) + kTail;
constexpr std::size_t kAllow = kLength - 3, kRefuse = kLength - 2, kAbsent = kLength - 1;

constexpr sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<__u32>(offset)); }
constexpr sock_filter answer(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

struct Program {
  std::array<sock_filter, kLength> lines{};
  std::size_t size = 0;

  constexpr void add(sock_filter line) { lines[size++] = line; }
  // Goes to `target` when the test holds, else on.
  constexpr void jump(std::uint16_t test, std::uint32_t value, std::size_t target) {
    add(BPF_JUMP(static_cast<__u16>(BPF_JMP | test | BPF_K), value, static_cast<__u8>(target - size - 1), 0));
  }
};

constexpr Program make_program() {
  Program out;
  // A program for another interface of the kernel has other numbers: none of its calls is there.
  out.add(load(offsetof(seccomp_data, arch)));
  out.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, static_cast<__u8>(kAbsent - 2)));
  out.add(load(offsetof(seccomp_data, nr)));
  out.jump(BPF_JGE, kForeignCalls, kAbsent);
  for (auto number : kRefused) out.jump(BPF_JEQ, number, kRefuse);
  // The flags of clone3 cannot be seen; without it the C library uses clone.
  out.jump(BPF_JEQ, SYS_clone3, kAbsent);
  out.jump(BPF_JEQ, SYS_clone, out.size + 3);
  out.jump(BPF_JEQ, SYS_unshare, out.size + 2);
  out.add(BPF_STMT(BPF_JMP | BPF_JA, static_cast<__u32>(kAllow - out.size - 1)));
  out.add(load(offsetof(seccomp_data, args)));
  out.jump(BPF_JSET, kNamespaces, kRefuse);
  out.add(answer(SECCOMP_RET_ALLOW));
  out.add(answer(SECCOMP_RET_ERRNO | EPERM));
  out.add(answer(SECCOMP_RET_ERRNO | ENOSYS));
  return out;
}

constinit const Program kProgram = make_program();

}  // namespace

bool filter_system_calls() {
  const sock_fprog program{static_cast<unsigned short>(kProgram.size), const_cast<sock_filter*>(kProgram.lines.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace lathe::sys
