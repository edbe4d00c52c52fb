#include "sim/runner.h"

namespace lathe::sim {

// Asks again until there is an answer to this step.
void Runner::say(Step step) {
  step_ = step;
  auto self = shared_from_this();
  Reply reply = [self, step](const Answer& answer) {
    if (step == Step::finishing && !answer.error) self->acknowledged_(self->key_);
    self->network_.send([self, step, answer] { self->heard(step, answer); });
  };
  channel_([self, step, reply](ServerPort& server) {
    if (step == Step::claiming) server.claim(self->key_, reply);
    if (step == Step::ended) server.process_ended(self->key_, reply);
    if (step == Step::finishing) server.finish(self->key_, self->exit_, reply);
  });
  loop_.after(5 * kSecond, [self, step] {
    if (self->step_ == step) self->say(step);
  });
}

void Runner::heard(Step step, const Answer& answer) {
  if (step_ != step) return;  // an answer that came twice or too late
  if (answer.error) return kill();
  if (step == Step::finishing) return kill();
  if (step == Step::claiming) {
    run_process();
    if (answer.stop != model::EndReason::none) wanted_stop_ = answer.stop;
    if (wanted_stop_ != model::EndReason::none) stop(wanted_stop_);
  } else {
    say(Step::finishing);
  }
}

void Runner::run_process() {
  step_ = Step::running;
  started_ = loop_.now();
  model::ExitRecord exit = script_.exit;
  if (script_.length > script_.longest) {
    exit = {};
    exit.reason = model::EndReason::timed_out;
  }
  loop_.after(std::min(script_.length, script_.longest),
              [self = shared_from_this(), exit] { self->end_process(exit); });
}

void Runner::stop(model::EndReason reason) {
  wanted_stop_ = reason;  // also when it comes before the answer to the claim
  if (step_ != Step::running) return;
  model::ExitRecord exit;
  exit.reason = reason;
  loop_.after(loop_.between(kMillisecond, 3 * kSecond), [self = shared_from_this(), exit] { self->end_process(exit); });
}

void Runner::end_process(model::ExitRecord exit) {
  if (step_ != Step::running) return;
  exit_ = std::move(exit);
  exit_.started = {started_};
  exit_.ended = loop_.utc();
  exit_.usage.cpu_seconds = 1;
  // Not every runner reports the end of the process before the end of the task.
  say(loop_.chance(70) ? Step::ended : Step::finishing);
}

}  // namespace lathe::sim
