#include "server/store_work.h"

namespace lathe::server {

using base::Code;
using base::Error;

void StoreWork::stop() {
  stopping_.cancel();
  store_.stop_hashing();
}

void StoreWork::begin(const std::string& kind) {
  if (!under_way_.insert(kind).second)
    throw Error(Code::conflict, fmt::format("{} is already under way", kind))
        .hint("wait until it is over; one at a time is enough, and two would only slow each other down");
}

rt::Task<cas::BlobFile> StoreWork::open_blob(base::Digest digest) {
  auto open = [&] { return base::value_or_throw(store_.open(digest)); };
  if (co_await files_.run(home_, [&] { return store_.opens_quickly(digest); }))
    co_return co_await files_.run(home_, open);
  co_return co_await run(open);
}

}  // namespace lathe::server
