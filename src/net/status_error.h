// StatusError: an answer whose HTTP status (405, 414, 431…) or headers say more than an Error's code can. Inside net/
// only.
#pragma once

#include "base/error.h"
#include "net/headers.h"

namespace lathe::net {

struct StatusError {
  int status;
  base::Error error;
  Headers headers{};
};

}  // namespace lathe::net
