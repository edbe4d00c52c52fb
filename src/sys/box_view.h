// BoxMounts: makes what a box shows and hides, in process 1 of it (sys/box_init.cc). A folder is hidden by an empty file
// system above it; a descriptor of what lies below is kept, so that parts of it can still be bound: it alone opens paths
// as the world outside has them. What the program's user could not reach because a folder on the way is closed to it
// (a home of mode 0700) is made reachable in the same way: the folder is covered, and only what is shown is in it.
#pragma once

#include <vector>

#include "sys/box.h"

namespace lathe::sys {

class BoxMounts {
 public:
  explicit BoxMounts(const BoxView& view) : view_(view) {}

  // Everything of the view.
  base::Result<void> make();
  base::Result<void> bind(const BoxShown& shown);
  base::Result<Fd> mount_fuse(const std::filesystem::path& to);
  // Nothing can be put into what hides any more.
  base::Result<void> seal();

 private:
  struct Cover {
    std::filesystem::path path;
    Fd below;  // the folder as it was
    Fd above;  // what hides it; none where that is a folder of its own
  };

  base::Result<void> make_own_places(const std::vector<Fd>& trees);
  // `hidden` is the folder as it was.
  base::Result<void> cover(const std::filesystem::path& folder, Fd hidden);
  base::Result<Fd> open_tree(const std::filesystem::path& from) const;
  base::Result<void> attach(const Fd& tree, const BoxShown& shown);
  base::Result<void> make_point(const std::filesystem::path& to, bool is_folder);
  base::Result<void> add_name(const char* file, const std::string& line);
  bool is_closed(const std::filesystem::path& folder) const;

  const BoxView& view_;
  std::vector<Cover> covers_;  // in order; a path may be there twice
};

}  // namespace lathe::sys
