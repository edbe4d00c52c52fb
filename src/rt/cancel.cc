#include "rt/cancel.h"

#include "base/error.h"

namespace lathe::rt {

CancelToken CancelSource::token() const {
  CancelToken token;
  token.state_ = state_;
  return token;
}

void CancelSource::cancel() {
  // A callback may end other subscriptions, or this source itself: hold the state and take one callback at a time.
  const auto state = state_;
  state->cancelled = true;
  while (!state->callbacks.empty()) {
    auto node = state->callbacks.extract(state->callbacks.begin());
    node.mapped()();
  }
}

CancelSubscription::CancelSubscription(const CancelToken& token, std::function<void()> callback) {
  if (!token.state_) return;
  if (token.state_->cancelled) {
    callback();
    return;
  }
  state_ = token.state_;
  id_ = state_->next++;
  state_->callbacks.emplace(id_, std::move(callback));
}

void CancelToken::check() const {
  if (cancelled()) throw base::Error(base::Code::cancelled, "cancelled");
}

}  // namespace lathe::rt
