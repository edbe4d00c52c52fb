#include "server/reserve.h"

#include "base/log.h"

namespace lathe::server {

void Reserve::require_room() const {
  if (!full_)
    throw base::Error(base::Code::no_space, "the disk of the state folder is full; only what ends runs is still stored")
        .hint("make room there: delete runs, collect garbage with 'lathe store gc', or enlarge the disk");
  if (!state_.has_inodes())
    throw base::Error(base::Code::no_space,
                      "the file system of the state folder can hold no more files (no free inodes)")
        .hint("remove files there: delete runs, collect garbage with 'lathe store gc'; df -i shows how many are left");
}

void Reserve::start(bool full) {
  full_ = full;
  if (!full_) scope_.spawn("fill the reserve", refill());
}

void Reserve::release() {
  if (!full_) return;  // another change did it meanwhile
  full_ = false;
  base::log::warn("the disk is full; the reserve is used");
  state_.release_reserve();
  scope_.spawn("fill the reserve", refill());
}

rt::Task<void> Reserve::refill() {
  auto cancel = scope_.token();
  while (!full_) {
    co_await home_.sleep(kPeriod, cancel);
    full_ =
        co_await files_.run(home_, [&] { return state_.has_room_to_spare() && state_.ensure_reserve().has_value(); });
  }
  base::log::info("there is room again; the reserve is filled");
}

}  // namespace lathe::server
