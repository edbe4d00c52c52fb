#include "sys/box_init.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "sys/box_view.h"
#include "sys/guard.h"
#include "sys/socket_message.h"

namespace lathe::sys {
namespace {

class Init {
 public:
  explicit Init(const BoxInit& given) : given_(given), mounts_(given.view) {}

  [[noreturn]] void run() {
    ::prctl(PR_SET_NAME, "lathe-guardian");
    const mode_t mask = ::umask(022);
    auto keep = given_.options.keep;
    keep.push_back(given_.control);
    close_all_except(std::move(keep));
    answer(make_view());
    for (;;) {
      auto message = receive_message(given_.control, kRequestRoom);
      if (!message || message->bytes.empty()) ::_exit(0);  // our owner is gone, and nothing was started
      if (message->bytes[0] == kRun) {
        ::umask(mask);
        start(*message);
      }
      obey(message->bytes);
    }
  }

 private:
  void answer(const base::Result<void>& outcome, int descriptor = -1) {
    (void)send_message(given_.control, encode_answer(outcome), std::span(&descriptor, descriptor >= 0 ? 1u : 0u));
  }

  base::Result<void> make_view() {
    if (given_.maps_user) LATHE_TRY_VOID(map_own_user(given_.user, given_.group));
    return mounts_.make();
  }

  void obey(std::string_view request) {
    const auto paths = base::split(request.substr(1), '\0');
    const std::filesystem::path from(paths[0]), to(paths.back());
    switch (request[0]) {
      case kBind:
      case kBindReadOnly:
        return answer(mounts_.bind({from, to, request[0] == kBindReadOnly}));
      case kMountFuse: {
        auto device = mounts_.mount_fuse(to);
        return device ? answer({}, device->get()) : answer(base::fail(std::move(device).error()));
      }
      case kUnmount:
        unmount(to);
        return answer({});
      default:
        return;  // a signal for a program that is not there yet
    }
  }

  [[noreturn]] void start(SocketMessage& message) {
    auto program = read_program(message.descriptors.front().get());
    int pipe = -1;
    SpawnRequest& request = program.request;
    for (std::size_t i = 1; i < message.descriptors.size(); ++i) {
      const int fd = message.descriptors[i].release();
      const char use = message.bytes[i];
      if (use == kInput) request.input = fd;
      if (use == kOutput) request.output = fd;
      if (use == kError) request.error = fd;
      if (use == kPipe) pipe = fd;
      if (use == kGroup) request.cgroups.push_back(fd);
    }
    message.descriptors.clear();
    if (given_.view.is_confined) request.confinement = given_.view.confinement;
    GuardianOrder order;
    order.keep = given_.options.keep;
    if (given_.options.last_words) order.last_words = [&] { given_.options.last_words(program.note, pipe); };
    if (auto sealed = mounts_.seal(); !sealed) refuse(sealed.error());
    stand_guard(given_.control, {.order = order, .is_first = given_.is_first}, request);
  }

  static BoxedProgram read_program(int file) {
    struct stat status{};
    ::fstat(file, &status);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    for (ssize_t n; done < text.size() &&
                    (n = ::pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done))) > 0;)
      done += static_cast<std::size_t>(n);
    return decode_program(text);
  }

  [[noreturn]] void refuse(const base::Error& error) {
    GuardianReport report;
    report.start_code = error.code();
    error.text().copy(report.start_error, sizeof report.start_error - 1);
    (void)send_message(given_.control, {reinterpret_cast<const char*>(&report), sizeof report});
    ::_exit(0);
  }

  const BoxInit& given_;
  BoxMounts mounts_;
};

}  // namespace

void run_init(const BoxInit& init) { Init(init).run(); }

}  // namespace lathe::sys
