// The JSON form of a lock, in both directions; docs/formats/environment-lock.md describes it.
#pragma once

#include <boost/json/object.hpp>

#include "envs/lock.h"

namespace lathe::envs {

inline constexpr int kLockFormat = 1;

boost::json::object lock_to_json(const LockContent& content);
base::Result<LockContent> lock_from_json(const boost::json::object& object);

}  // namespace lathe::envs
