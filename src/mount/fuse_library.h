// libfuse3's low-level functions, loaded when the first FUSE file system is mounted: most runs, and every other start
// of this program, need none of it and must not pay for loading it.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include "base/error.h"

namespace lathe::mount {

struct FuseLibrary {
  decltype(&::fuse_opt_free_args) opt_free_args;
  decltype(&::fuse_session_new) session_new;
  decltype(&::fuse_session_mount) session_mount;
  decltype(&::fuse_session_destroy) session_destroy;
  decltype(&::fuse_session_receive_buf) session_receive_buf;
  decltype(&::fuse_session_process_buf) session_process_buf;
  decltype(&::fuse_session_exited) session_exited;
  decltype(&::fuse_req_userdata) req_userdata;
  decltype(&::fuse_reply_err) reply_err;
  decltype(&::fuse_reply_none) reply_none;
  decltype(&::fuse_reply_entry) reply_entry;
  decltype(&::fuse_reply_attr) reply_attr;
  decltype(&::fuse_reply_readlink) reply_readlink;
  decltype(&::fuse_reply_open) reply_open;
  decltype(&::fuse_reply_buf) reply_buf;
  decltype(&::fuse_reply_iov) reply_iov;
  decltype(&::fuse_reply_statfs) reply_statfs;
  decltype(&::fuse_add_direntry) add_direntry;
  decltype(&::fuse_add_direntry_plus) add_direntry_plus;
  decltype(&::fuse_set_log_func) set_log_func;

  // Loads it once; unsupported where it is not installed.
  static base::Result<const FuseLibrary*> load();
};

}  // namespace lathe::mount
