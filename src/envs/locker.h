// make_lock: from what is asked to exactly what will be installed. Blocking (runs uv), on a thread of the caller's
// pool; ends with `cancelled` when stopped. Failures name the package and what to do.
#pragma once

#include <stop_token>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/spec.h"

namespace lathe::envs {

base::Result<Lock> make_lock(const Settings& settings, const Spec& spec, const LogSink& log, std::stop_token stop);

}  // namespace lathe::envs
