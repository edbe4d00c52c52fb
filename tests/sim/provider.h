// The simulated compute provider: starts runners, knows which live, and outlives the server. It may be wrong about one
// that is behind a partition.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "sim/runner.h"

namespace lathe::sim {

class Provider {
 public:
  enum class Life { unknown, alive, dead };
  // Tells the server, if it is up, that a task is gone.
  std::function<void(const TaskKey&)> on_loss;
  std::function<Script(const TaskKey&)> make_script;
  Runner::Acknowledged on_acknowledged;
  int start_failure_percent = 0;

  Provider(Loop& loop, Network& network, Runner::Channel channel)
      : loop_(loop), network_(network), channel_(std::move(channel)) {}

  // Starting the same task twice starts it once.
  void start(const TaskKey& key) {
    if (!known_.insert(key).second) return;
    if (loop_.chance(start_failure_percent)) return lose(key);
    auto runner = std::make_shared<Runner>(loop_, network_, channel_, on_acknowledged, key, make_script(key));
    runners_[key] = runner;
    loop_.after(loop_.between(kMillisecond, 500 * kMillisecond), [runner] { runner->begin(); });
  }

  Life poll(const TaskKey& key) const {
    if (!known_.contains(key)) return Life::unknown;
    auto found = runners_.find(key);
    return found == runners_.end() || found->second->gone() ? Life::dead : Life::alive;
  }

  // The watch stream: it reaches a runner that lives and is not cut off.
  void push_stop(const TaskKey& key, model::EndReason reason) {
    auto found = runners_.find(key);
    if (found == runners_.end()) return;
    loop_.after(loop_.between(kMillisecond, 50 * kMillisecond),
                [runner = found->second, reason] { runner->stop(reason); });
  }

  // A random task: killed, or (cut off) left running where nobody sees it.
  void disturb(bool cut_off) {
    forget_gone();
    if (runners_.empty()) return;
    auto found = runners_.lower_bound({loop_.between(runners_.begin()->first.run, runners_.rbegin()->first.run), 0, 0});
    if (found == runners_.end()) return;
    auto runner = found->second;
    if (!cut_off) {
      runner->kill();
      // Its spool is adopted and delivered, usually before the loss is declared.
      if (runner->spool())
        channel_([key = runner->key(), exit = *runner->spool()](ServerPort& server) {
          server.finish(key, exit, [](const Answer&) {});
        });
    }
    runners_.erase(found);
    lose(runner->key());
  }

  void forget_gone() {
    std::erase_if(runners_, [](const auto& entry) { return entry.second->gone(); });
  }

 private:
  void lose(const TaskKey& key) {
    loop_.after(loop_.between(10 * kMillisecond, 20 * kSecond), [this, key] { on_loss(key); });
  }

  Loop& loop_;
  Network& network_;
  Runner::Channel channel_;
  std::map<TaskKey, std::shared_ptr<Runner>> runners_;
  std::set<TaskKey> known_;
};

}  // namespace lathe::sim
