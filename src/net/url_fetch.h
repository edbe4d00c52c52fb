// Fetching one URL: redirects (bounded, each one checked), proxies, revalidation, and resuming. Blocking; call it on a
// thread that may wait. Nothing is retried here: whoever asks knows what is worth another try.
//
// Errors: `upstream` when the other side did not give what was asked for, `corrupt` when its bytes do not fit what it
// said about them, `forbidden` for an address that the site does not allow, `cancelled`, and what the sink returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/outbound.h"

namespace lathe::net {

struct FetchRules {
  ProxySettings proxy;
  std::vector<AddressRange> allowed_private;
};

struct FetchRequest {
  std::string url;
  std::string etag, last_modified;  // of the copy that we have: a 304 is asked for
  std::uint64_t offset = 0;         // only the rest from here, if `validator` still holds
  std::string validator;
};

struct FetchHead {
  int status = 0;                     // 200, 206 or 304
  std::uint64_t offset = 0;           // where the body begins: not 0 only for 206
  std::optional<std::uint64_t> size;  // of the whole, when the other side says it
  std::string etag, last_modified;
  bool encoded = false;  // the bytes on the wire are not those of the file: cannot be resumed
};

struct FetchSink {
  std::function<base::Result<void>(const FetchHead&)> begin;  // once, before the first byte; not for a 304
  std::function<base::Result<void>(std::string_view)> write;
};

struct FetchOutcome {
  FetchHead head;
  std::optional<base::Error> error;
  bool worth_a_retry = false;  // another try could end otherwise
};

FetchOutcome fetch_url(const FetchRules& rules, const FetchRequest& request, const FetchSink& sink,
                       const std::atomic<bool>& cancelled);

}  // namespace lathe::net
