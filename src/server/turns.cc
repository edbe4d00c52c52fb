#include "server/turns.h"

#include "base/error.h"

namespace lathe::server {

rt::Task<Turns::Turn> Turns::take(rt::CancelToken cancel, std::function<bool()> unwanted) {
  while (free_ <= 0) {
    co_await changed_.changed(changed_.version(), cancel);
    if (unwanted()) throw base::Error(base::Code::cancelled, "given up before it began");
  }
  co_return Turn(*this);
}

}  // namespace lathe::server
