// EnvironmentBuilds: locks environments and puts them on this machine, each piece of work once: who asks for what goes
// on already joins it. One coroutine per build on the home thread; the work itself is on a thread of the pool `builds`.
// A build ends ready or failed, and its log becomes a blob. A server that stops leaves its builds as they are; the next
// one goes on with them. A build that only runs wanted is given up when the last of them is canceled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>

#include "db/environment_builds.h"
#include "rt/async_mutex.h"
#include "server/build_log.h"
#include "server/environment_lookup.h"
#include "server/environment_site.h"
#include "server/turns.h"

namespace lathe::server {

class EnvironmentBuilds {
 public:
  using Build = db::environment_builds::Build;

  EnvironmentBuilds(Core& core, EnvironmentSite& site, std::filesystem::path folder);

  // Before the API opens: goes on with what an earlier server began.
  rt::Task<void> recover();
  // Gives up the work that is under way, without ending the builds.
  void stop();
  // Waits for the threads; after the loop has ended.
  void join() { threads_.stop(); }

  struct Wish {
    std::string workspace;
    Definition definition;
    std::optional<base::Digest> source;  // of the run, where the definition names files of it
    bool refresh = false;
  };
  struct Ready {
    base::Digest lock;
    std::string substitutions_json;
  };
  // What the definition is locked to, when that is on this machine already: one row and one small file are read.
  rt::Task<std::optional<Ready>> find_ready(std::string workspace, base::Digest key);
  // The build that does it, new or joined. Made by a person it goes on whoever waits.
  rt::Task<Build> start(Wish wish, Caller caller);
  // The same for a run, which is noted in it.
  rt::Task<Build> start_for(Wish wish, const model::RunRecord& run);
  // Resumes when it is over. `cancel` ends the waiting, and the build when nobody else wants it.
  rt::Task<Build> wait(Build build, rt::CancelToken cancel);
  // Until it is over, whoever wants it.
  rt::Task<Build> over(Build build);
  void cancel(std::int64_t id, const std::string& who);

  // As it stands now, also when `build` was read a while ago.
  Build current(Build build) const;
  // The last line of its log, for people who wait; empty when it is over.
  std::string news(std::int64_t id) const;
  rt::Task<void> copy_log(Build build, std::uint64_t offset, std::uint64_t length, bool follow, rt::CancelToken cancel,
                          net::BodyWriter& out);

  // A lock from elsewhere: from now on this is what the definition means.
  rt::Task<void> import(std::string workspace, Definition definition, envs::Lock lock, Caller caller);
  // The document. Throws not_found.
  rt::Task<envs::Lock> read_lock(base::Digest digest);
  // After the one that goes on already, such as that at the end of a build.
  rt::Task<envs::Collected> collect(envs::CollectPolicy policy, bool dry_run, Caller caller);

 private:
  struct Work;
  using WorkPtr = std::shared_ptr<Work>;
  WorkPtr find_work(std::int64_t id) const;
  WorkPtr adopt(Build build);
  rt::Task<WorkPtr> join_or_begin(Wish wish, Caller caller, const model::RunRecord* run);
  rt::Task<void> run(WorkPtr work);
  rt::Task<void> lock_and_realise(WorkPtr work);
  rt::Task<envs::Lock> get_lock(WorkPtr work, const envs::Spec& spec);
  rt::Task<envs::Lock> make_lock(WorkPtr work, const envs::Spec& spec);
  rt::Task<void> keep_lock(WorkPtr work, const envs::Lock& lock);
  rt::Task<void> realise(WorkPtr work, const envs::Lock& lock);
  // A piece of work on a thread; when it meets a full disk, once more after what nobody uses was removed.
  rt::Task<void> with_room(WorkPtr work, std::function<void()> piece);
  rt::Task<void> finish(WorkPtr work, std::optional<base::Error> failure);
  // Whatever cannot be stored of a build's end costs that alone: who waits for the build is told in any case.
  rt::Task<void> store_end(WorkPtr work, bool to_compile);
  rt::Task<void> seal_log(WorkPtr work, bool to_compile);
  rt::Task<void> store(WorkPtr work, std::string detail);
  rt::Task<void> compile(base::Digest lock);
  rt::Task<void> recover_compiling();
  // Collects by the site's rules.
  rt::Task<void> tidy();
  // Is there until the environment is compiled and the cache is tidy again, so that a later server does it.
  std::filesystem::path compile_mark(const base::Digest& lock) const {
    return folder_ / (std::string(kCompilePrefix) + lock.hex());
  }
  // The files of the environment are compiled when there is time for it.
  void compile_later(base::Digest lock);

  Core& core_;
  EnvironmentSite& site_;
  const std::filesystem::path folder_;  // logs, and files for builds that need some
  std::map<std::int64_t, WorkPtr> works_;
  std::set<base::Digest> compiled_;  // by this process, or found so
  Turns turns_;  // as many as there are threads, so that `waiting` says the truth
  rt::AsyncMutex starting_;    // the same work asked for twice at once is one build
  rt::AsyncMutex collecting_;  // who wants to collect waits for the one who does
  static constexpr int kThreads = 2;
  static constexpr std::string_view kCompilePrefix = "compile.";
  rt::BlockingPool threads_{"builds", kThreads, 1024};
};

// As the API shows it.
boost::json::object build_json(const db::environment_builds::Build& build);
std::string substitutions_json(const envs::Lock& lock);

}  // namespace lathe::server
