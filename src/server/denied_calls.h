// DeniedCalls: audit rows of calls that were refused (401, 403). Who is refused can call as often as they like, and
// must not fill the disk or the audit trail: after a burst there is a row now and then, which says how many there were
// meanwhile. Strangers and holders of tokens are counted apart, so that noise of the former does not hide the latter.
// Home thread. A row that cannot be written is a line of the log.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "net/http_server.h"
#include "server/core.h"

namespace lathe::server {

class DeniedCalls {
 public:
  explicit DeniedCalls(Core& core) : core_(core) {}
  void note(const net::Refusal& refusal);

 private:
  struct Allowance {
    double rows, most, per_second;
    base::SteadyTime counted;
    std::uint64_t unsaid = 0;
  };
  // Whether a row may be written now.
  bool take(Allowance& allowance) const;

  Core& core_;
  Allowance strangers_{30, 30, 1.0 / 60, {}}, holders_{100, 100, 1.0 / 10, {}};
};

}  // namespace lathe::server
