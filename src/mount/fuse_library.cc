#include "mount/fuse_library.h"

#include <dlfcn.h>

namespace lathe::mount {
namespace {

class Loader {
 public:
  explicit Loader(void* library) : library_(library), whole_(library != nullptr) {}

  template <class F>
  void find(const char* name, F& function) {
    if (whole_) function = reinterpret_cast<F>(::dlsym(library_, name));
    whole_ = whole_ && function != nullptr;
  }
  bool whole() const { return whole_; }

 private:
  void* library_;
  bool whole_;
};

// The mount's own errors go to its readers; what the library would print concerns nobody else.
void stay_silent(enum fuse_log_level, const char*, va_list) {}

base::Result<FuseLibrary> load_library() {
  Loader loader(::dlopen("libfuse3.so.3", RTLD_NOW | RTLD_LOCAL));
  FuseLibrary fuse{};
  loader.find("fuse_opt_free_args", fuse.opt_free_args);
  loader.find("fuse_session_new", fuse.session_new);
  loader.find("fuse_session_mount", fuse.session_mount);
  loader.find("fuse_session_destroy", fuse.session_destroy);
  loader.find("fuse_session_receive_buf", fuse.session_receive_buf);
  loader.find("fuse_session_process_buf", fuse.session_process_buf);
  loader.find("fuse_session_exited", fuse.session_exited);
  loader.find("fuse_req_userdata", fuse.req_userdata);
  loader.find("fuse_reply_err", fuse.reply_err);
  loader.find("fuse_reply_none", fuse.reply_none);
  loader.find("fuse_reply_entry", fuse.reply_entry);
  loader.find("fuse_reply_attr", fuse.reply_attr);
  loader.find("fuse_reply_readlink", fuse.reply_readlink);
  loader.find("fuse_reply_open", fuse.reply_open);
  loader.find("fuse_reply_buf", fuse.reply_buf);
  loader.find("fuse_reply_iov", fuse.reply_iov);
  loader.find("fuse_reply_statfs", fuse.reply_statfs);
  loader.find("fuse_add_direntry", fuse.add_direntry);
  loader.find("fuse_add_direntry_plus", fuse.add_direntry_plus);
  loader.find("fuse_set_log_func", fuse.set_log_func);
  if (!loader.whole())
    return base::fail(base::Error(base::Code::unsupported, "libfuse3 is not installed, so nothing can be mounted")
                          .hint("apt-get install libfuse3-3"));
  fuse.set_log_func(stay_silent);
  return fuse;
}

}  // namespace

base::Result<const FuseLibrary*> FuseLibrary::load() {
  static const base::Result<FuseLibrary> library = load_library();
  if (!library) return base::fail(library.error());
  return &*library;
}

}  // namespace lathe::mount
