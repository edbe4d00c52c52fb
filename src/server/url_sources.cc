#include "server/url_sources.h"

#include <chrono>
#include <thread>

#include "net/gzip_check.h"
#include "server/url_partial.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::url_cache::Entry;
using rt::Task;

namespace {

constexpr int kTries = 4;
constexpr int kThreads = 4;
constexpr std::size_t kQueue = 1024;
constexpr std::uint64_t kReportBytes = 1u << 20;

// A page that says "not found" with status 200 is the usual lie, and a file that was cut on its way the usual damage.
// Nothing is kept of either, so that the next try begins anew.
void require_gzip(const std::string& url, UrlPartial& partial, const std::atomic<bool>& cancelled) {
  std::string path = url.substr(0, url.find('?'));
  if (!path.ends_with(".gz") && !path.ends_with(".tgz")) return;
  std::uint64_t offset = 0;
  auto checked = net::check_gzip([&](char* buffer, std::size_t size) -> base::Result<std::size_t> {
    if (cancelled) return base::fail(Code::cancelled, "nobody waits for it any more");
    LATHE_TRY(const std::size_t got, partial.read(offset, buffer, size));
    offset += got;
    return got;
  });
  if (checked) return;
  if (checked.error().code() != Code::corrupt) throw checked.error();
  partial.drop();
  throw Error(Code::corrupt, fmt::format("{} is named as a gzip file, but {}", url, checked.error().message()))
      .field("url")
      .hint("look at it in a browser: it may be the page of an error or of a login, or incomplete where it comes from");
}

// Between two tries; short, and shorter still when nobody waits any more.
void pause(int tries, const std::atomic<bool>& cancelled) {
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100 << tries);
  while (!cancelled && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// The bytes into the partial, and now and then a word to whoever watches.
net::FetchSink sink_into(UrlPartial& partial, rt::Executor& home, const std::shared_ptr<TransferProgress>& progress) {
  auto reported = std::make_shared<std::uint64_t>(0);
  return {[&partial](const net::FetchHead& head) { return partial.begin(head); },
          [&partial, &home, progress, reported](std::string_view bytes) -> base::Result<void> {
            LATHE_TRY_VOID(partial.append(bytes));
            progress->bytes += bytes.size();
            if (progress->bytes - *reported >= kReportBytes) {
              *reported = progress->bytes;
              home.post([progress] { progress->changed.notify(); });
            }
            return {};
          }};
}

}  // namespace

UrlSources::UrlSources(Core& core, DiskBudget& budget) : core_(core), budget_(budget) {
  rules_.proxy = net::ProxySettings::from_environment();
  rules_.allowed_private = core.site.private_addresses;
}

rt::BlockingPool& UrlSources::pool() {
  if (!pool_) pool_ = std::make_unique<rt::BlockingPool>("fetch", kThreads, kQueue);
  return *pool_;
}

UrlSources::Fetched UrlSources::transfer(const std::string& url, const std::optional<Entry>& known,
                                         const std::shared_ptr<TransferProgress>& progress) {
  bool have_it = known && core_.store.find(known->digest);
  auto partial = base::value_or_throw(UrlPartial::open(core_.store, url));
  for (int tries = 1;; ++tries) {
    net::FetchRequest request{.url = url, .etag = {}, .last_modified = {}, .offset = 0, .validator = {}};
    if (partial.can_resume()) {
      request.offset = partial.size();
      request.validator = partial.validator();
    } else if (have_it) {
      request.etag = known->etag;
      request.last_modified = known->last_modified;
    }
    auto outcome = net::fetch_url(rules_, request, sink_into(partial, core_.home, progress), progress->cancelled);
    if (!outcome.error) {
      if (outcome.head.status == 304) return partial.drop(), Fetched{outcome.head, std::nullopt};
      require_gzip(url, partial, progress->cancelled);
      return {outcome.head, base::value_or_throw(partial.commit())};
    }
    // What we have cannot be continued there: from the beginning, then.
    bool cannot_resume = request.offset > 0 && outcome.head.status == 416;
    if (cannot_resume) base::value_or_throw(partial.begin({}));
    if (tries == kTries || (!outcome.worth_a_retry && !cannot_resume)) throw *outcome.error;
    pause(tries, progress->cancelled);
  }
}

class UrlSources::TurnUse {
 public:
  TurnUse(UrlSources& owner, std::string url) : owner_(owner), url_(std::move(url)) {
    auto& turn = owner_.turns_[url_];
    if (!turn) turn = std::make_unique<Turn>(owner_.core_.home);
    ++turn->users;
  }
  ~TurnUse() {
    if (--owner_.turns_[url_]->users == 0) owner_.turns_.erase(url_);
  }
  TurnUse(const TurnUse&) = delete;
  rt::AsyncMutex& mutex() { return owner_.turns_[url_]->mutex; }

 private:
  UrlSources& owner_;
  std::string url_;
};

Task<Entry> UrlSources::fetch(std::string url, std::shared_ptr<TransferProgress> progress, rt::CancelToken cancel) {
  TurnUse turn(*this, url);
  auto lock = co_await turn.mutex().lock();
  cancel.check();
  core_.reserve.require_room();
  co_await budget_.require_room();
  auto known =
      co_await core_.database.read([&](db::Connection& connection) { return db::url_cache::find(connection, url); });
  rt::CancelSubscription watch(cancel, [progress] { progress->cancelled = true; });
  auto fetched = co_await pool().run(core_.home, [&] { return transfer(url, known, progress); });
  auto now = core_.clock.utc();
  Entry entry;
  if (fetched.blob) {
    entry = {url,
             fetched.head.etag,
             fetched.head.last_modified,
             fetched.blob->digest,
             static_cast<std::int64_t>(fetched.blob->size),
             now,
             now};
    budget_.count(fetched.blob->size);
    core_.metrics.add("lathe_url_bytes_fetched_total", fetched.blob->size);
  } else {
    entry = *known;
    entry.checked = now;
  }
  co_await core_.database.write([&](db::Connection& connection) { db::url_cache::put(connection, entry); });
  co_return entry;
}

}  // namespace lathe::server
