// Environment: the Python that the run's processes get. One that Lathe builds is held for as long as this lives, so
// that nobody collects it, and seen read-only by the run; where this node does not have it, it is built here from its
// lock, with the same library as the server's. Main thread; the build itself is on a thread that ends with deliver().
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "envs/realiser.h"
#include "envs/settings.h"
#include "runner/server_link.h"
#include "sys/fd.h"
#include "sys/mounts.h"

namespace lathe::runner {

class Environment {
 public:
  // `folder`: of our own, for files that a build needs. `log`: where a build here says what it does.
  Environment(const Order& order, LinkFactory make_link, std::filesystem::path folder, std::filesystem::path log)
      : order_(order), make_link_(std::move(make_link)), folder_(std::move(folder)), log_(std::move(log)) {}

  // Whether protect() mounts something.
  bool wants_namespace() const { return order_.lock.has_value(); }
  // May be repeated. `keep_going` is asked all the time; its error ends a build.
  base::Result<envs::Realised> deliver(const std::function<base::Result<void>()>& keep_going);
  // Makes it read-only for the run; where `why_not` says that nothing can be mounted, that is noted.
  base::Result<void> protect(const envs::Realised& realised, sys::Mounts& mounts, const std::string& why_not);
  // What was done otherwise than asked.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  base::Result<envs::Realised> hold(const envs::Settings& settings);
  base::Result<void> build(envs::Settings settings, const std::function<base::Result<void>()>& keep_going);
  base::Result<void> build_here(envs::Settings settings, std::stop_token stop) const;
  base::Result<std::filesystem::path> fetch(ServerLink& link, const base::Digest& digest,
                                            const std::string& name) const;

  const Order& order_;
  const LinkFactory make_link_;
  const std::filesystem::path folder_, log_;
  sys::Fd held_;
  std::vector<std::string> notes_;
};

// Id of the image in which the processes of this order run; empty: none.
std::string image_of(const Order& order);

}  // namespace lathe::runner
