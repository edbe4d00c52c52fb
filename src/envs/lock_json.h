// The JSON form of a lock, in both directions; docs/formats/environment-lock.md describes it.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "envs/lock.h"

namespace lathe::envs {

inline constexpr int kLockFormat = 1;

boost::json::object lock_to_json(const LockContent& content);
// The conda tool speaks of packages in the same form.
boost::json::object conda_to_json(const LockedConda& package);
base::Result<std::vector<LockedConda>> conda_from_json(const boost::json::array& list);
base::Result<LockContent> lock_from_json(const boost::json::object& object);

}  // namespace lathe::envs
