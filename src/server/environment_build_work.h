// One build under way; private to environment_builds*.cc.
#pragma once

#include "server/environment_builds.h"

namespace lathe::server {

struct EnvironmentBuilds::Work {
  Work(Build row, std::shared_ptr<BuildLog> file, rt::Executor& home)
      : build(std::move(row)), log(std::move(file)), changed(home) {}

  Build build;
  std::shared_ptr<BuildLog> log;
  std::stop_source stop;
  rt::Notifier changed;
  int runs = 0;             // that wait for it
  bool asked = false;       // by a person
  std::string canceled_by;  // empty: it was not
  bool over = false;
};

}  // namespace lathe::server
