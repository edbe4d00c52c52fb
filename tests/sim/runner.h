// A simulated runner: claims its task, lets a made-up process run, and reports until it is heard. It knows its key, how
// to send to the server, and nothing else. A killed one says nothing more; one behind a partition does not know that it
// is taken for dead.
#pragma once

#include <functional>
#include <memory>

#include "sim/loop.h"
#include "sim/network.h"
#include "sim/tasks.h"

namespace lathe::sim {

// What the process will do when left alone.
struct Script {
  Micros length = kSecond;
  Micros longest = kSecond;  // max_run_duration
  model::ExitRecord exit;
};

class Runner : public std::enable_shared_from_this<Runner> {
 public:
  // Hands a call to the server if it is up when the message arrives.
  using Channel = std::function<void(std::function<void(ServerPort&)>)>;

  // Told when the server acknowledges the end of the task.
  using Acknowledged = std::function<void(const TaskKey&)>;

  Runner(Loop& loop, Network& network, Channel channel, Acknowledged acknowledged, TaskKey key, Script script)
      : loop_(loop),
        network_(network),
        channel_(std::move(channel)),
        acknowledged_(std::move(acknowledged)),
        key_(key),
        script_(std::move(script)) {}

  void begin() { say(Step::claiming); }
  // The watch stream says that the task must stop.
  void stop(model::EndReason reason);
  // SIGKILL. When the process had already ended, its spool holds the exit record.
  void kill() { step_ = Step::gone; }
  const model::ExitRecord* spool() const { return exit_.reason == model::EndReason::none ? nullptr : &exit_; }
  bool gone() const { return step_ == Step::gone; }
  const TaskKey& key() const { return key_; }

 private:
  enum class Step { idle, claiming, running, ended, finishing, gone };

  void say(Step step);
  void heard(Step step, const Answer& answer);
  void run_process();
  void end_process(model::ExitRecord exit);

  Loop& loop_;
  Network& network_;
  Channel channel_;
  Acknowledged acknowledged_;
  TaskKey key_;
  Script script_;
  Step step_ = Step::idle;
  Micros started_ = 0;
  model::ExitRecord exit_;
  model::EndReason wanted_stop_ = model::EndReason::none;
};

}  // namespace lathe::sim
