#include "mount/session.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "mount/fuse_state.h"

namespace lathe::mount {

Session::Session(FileTree& tree, BlobSource& source, const CacheOptions& cache)
    : source_(source),
      cache_(source, cache.memory_bytes, cache.shelf),
      ahead_(cache_, tree),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

base::Result<std::unique_ptr<Session>> Session::start(sys::Fd device, FileTree& tree, BlobSource& source,
                                                      const CacheOptions& cache) {
  LATHE_TRY(const FuseLibrary* library, FuseLibrary::load());
  std::unique_ptr<Session> session(new Session(tree, source, cache));
  session->state_.reset(new FuseState{*library, tree, session->cache_, session->ahead_});
  FuseState& state = *session->state_;
  ::clock_gettime(CLOCK_REALTIME, &state.time);
  std::string name = "lathe";
  char* words[] = {name.data(), nullptr};
  fuse_args arguments{1, words, 0};
  state.session = library->session_new(&arguments, &fuse_operations(), sizeof(fuse_lowlevel_ops), &state);
  library->opt_free_args(&arguments);  // reading them made copies
  if (!state.session) return base::fail(base::Code::unsupported, "libfuse3 refused to start a session");
  // It is mounted already; the library takes the descriptor over.
  if (library->session_mount(state.session, fmt::format("/dev/fd/{}", device.get()).c_str()) != 0)
    return base::fail(base::Code::unsupported, "libfuse3 refused the descriptor of a mount");
  const int fd = device.release();
  for (int i = 0; i < kThreads; ++i) session->threads_.emplace_back([one = session.get(), fd] { one->serve(fd); });
  return session;
}

Session::~Session() {
  source_.interrupt();
  ::eventfd_write(stop_event_.get(), 1);
  for (auto& thread : threads_) thread.join();
  ahead_.stop();
  if (state_ && state_->session) state_->fuse.session_destroy(state_->session);
}

void Session::serve(int device) {
  fuse_buf request{};
  for (;;) {
    pollfd waits[] = {{device, POLLIN, 0}, {stop_event_.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) break;
    if (waits[1].revents != 0) break;
    const int size = state_->fuse.session_receive_buf(state_->session, &request);
    if (size == -EAGAIN || size == -EINTR) continue;  // another thread was faster
    if (size <= 0) break;                             // unmounted
    state_->fuse.session_process_buf(state_->session, &request);
  }
  std::free(request.mem);
}

}  // namespace lathe::mount
