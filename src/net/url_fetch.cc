#include "net/url_fetch.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "base/strings.h"
#include "net/curl_library.h"
#include "net/response_range.h"
#include "net/web_url.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr int kMaxRedirects = 10;
constexpr long kConnectSeconds = 20;
constexpr long kStallSeconds = 60;  // not one byte for so long

// One request and its answer; a redirect is the caller's to follow.
class Hop {
 public:
  Hop(const CurlLibrary& curl, const FetchRules& rules, const FetchRequest& request, const FetchSink& sink,
      const std::atomic<bool>& cancelled)
      : curl_(curl),
        rules_(rules),
        request_(request),
        sink_(sink),
        cancelled_(cancelled),
        easy_(curl.easy_init(), curl.easy_cleanup),
        headers_(nullptr, curl.slist_free_all) {}

  FetchOutcome run(const WebUrl& url) {
    shown_ = url.text();
    prepare(url);
    CURLcode code = curl_.easy_perform(easy_.get());
    char* redirect = nullptr;
    curl_.easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &redirect);
    if (code == CURLE_OK && redirect) redirect_ = redirect;
    if (code == CURLE_OK && redirect_.empty()) code = begin();  // an answer without a body
    return {head_, error_of(code), retry_};
  }
  const std::string& redirect() const { return redirect_; }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_.easy_setopt(easy_.get(), option, value);
  }
  void add_header(const std::string& line) { headers_.reset(curl_.slist_append(headers_.release(), line.c_str())); }

  void prepare(const WebUrl& url) {
    std::string proxy = proxy_for(rules_.proxy, url);
    is_direct_ = proxy.empty();
    set(CURLOPT_URL, shown_.c_str());
    set(CURLOPT_PROXY, proxy.c_str());  // "": none, whatever the environment says
    set(CURLOPT_NOPROXY, "");
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    set(CURLOPT_USERAGENT, "lathe");
    // The file as it is; an encoding that comes all the same is undone, and one that lies is noticed.
    set(CURLOPT_ACCEPT_ENCODING, "identity");
    if (const char* bundle = std::getenv("SSL_CERT_FILE")) set(CURLOPT_CAINFO, bundle);
    prepare_headers();
    set(CURLOPT_OPENSOCKETFUNCTION, &Hop::open_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Hop::take_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Hop::take_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Hop::show_progress);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_VERBOSE, 1L);  // only for what is left on the connection, see look_at_wire()
    set(CURLOPT_DEBUGFUNCTION, &Hop::look_at_wire);
    set(CURLOPT_DEBUGDATA, this);
  }

  void prepare_headers() {
    if (request_.offset > 0) {
      add_header(fmt::format("Range: bytes={}-", request_.offset));
      add_header("If-Range: " + request_.validator);
    } else if (!request_.etag.empty()) {
      add_header("If-None-Match: " + request_.etag);
    } else if (!request_.last_modified.empty()) {
      add_header("If-Modified-Since: " + request_.last_modified);
    }
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& hop = *static_cast<Hop*>(self);
    if (hop.is_direct_ && !hop.may_reach(address->addr)) {
      hop.is_refused_ = true;
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  bool may_reach(const sockaddr& address) const {
    if (!is_private_address(address)) return true;
    for (const auto& range : rules_.allowed_private)
      if (range.contains(address)) return true;
    return false;
  }

  static std::size_t take_header(const char* bytes, std::size_t, std::size_t size, void* self) {
    static_cast<Hop*>(self)->read_header({bytes, size});
    return size;
  }

  void read_header(std::string_view line) {
    line = base::trim(line);
    if (line.starts_with("HTTP/")) {  // of a proxy's CONNECT, of a 100, or of the answer itself
      head_ = {};
      range_.reset();
      length_.reset();
      auto space = line.find(' ');
      head_.status = static_cast<int>(base::parse_u64(line.substr(space + 1, 3)).value_or(0));
      return;
    }
    auto colon = line.find(':');
    if (colon == line.npos) return;
    std::string name = base::to_lower(line.substr(0, colon));
    std::string value(base::trim(line.substr(colon + 1)));
    if (name == "etag") head_.etag = value;
    if (name == "last-modified") head_.last_modified = value;
    if (name == "content-length") length_ = base::parse_u64(value);
    if (name == "content-range") range_ = parse_content_range(value);
    if (name == "content-encoding" && base::to_lower(value) != "identity") head_.encoded = true;
  }

  static std::size_t take_body(const char* bytes, std::size_t, std::size_t size, void* self) {
    auto& hop = *static_cast<Hop*>(self);
    if (hop.head_.status / 100 != 2) return size;  // the page of an error or a redirect is of no use
    if (hop.begin() != CURLE_OK) return 0;
    hop.received_ += size;
    return hop.accept(hop.sink_.write({bytes, size})) ? size : 0;
  }

  // Tells the sink what comes, once.
  CURLcode begin() {
    if (has_begun_ || head_.status / 100 != 2) return CURLE_OK;
    has_begun_ = true;
    if (head_.status == 206) {
      if (request_.offset == 0 || !range_ || range_->first != request_.offset) {
        failure_ = lie("answered with a part of the file that nobody asked for");
        return CURLE_WRITE_ERROR;
      }
      head_.offset = range_->first;
      head_.size = range_->size;
    } else if (length_ && !head_.encoded) {
      head_.size = *length_;
    }
    return accept(sink_.begin(head_)) ? CURLE_OK : CURLE_WRITE_ERROR;
  }

  bool accept(base::Result<void> result) {
    if (result) return true;
    failure_ = std::move(result).error();
    return false;
  }

  static int show_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Hop*>(self)->cancelled_.load() ? 1 : 0;
  }

  // curl stops at the announced length and only mentions what came behind it; a file that is cut there would look
  // whole.
  static int look_at_wire(CURL*, curl_infotype type, char* text, std::size_t size, void* self) {
    if (type == CURLINFO_TEXT && std::string_view(text, size).starts_with("Excess found"))
      static_cast<Hop*>(self)->has_excess_ = true;
    return 0;
  }

  Error lie(std::string_view what) const {
    return Error(Code::corrupt, fmt::format("{} {}", shown_, what))
        .field("url")
        .hint("the server there is wrong, or something on the way is; try it with curl");
  }

  std::optional<Error> error_of(CURLcode code) {
    if (failure_) return failure_;
    if (cancelled_.load()) return Error(Code::cancelled, fmt::format("fetching {} was given up", shown_));
    if (is_refused_)
      return Error(Code::forbidden, fmt::format("{} is an address of a private network", shown_))
          .field("url")
          .hint("an operator can allow it in config.yaml: fetch: {private: [ADDRESS/BITS]}");
    if (code != CURLE_OK) return transport_error(code);
    return status_error();
  }

  Error transport_error(CURLcode code) {
    retry_ = code != CURLE_BAD_CONTENT_ENCODING && code != CURLE_PEER_FAILED_VERIFICATION;
    if (code == CURLE_BAD_CONTENT_ENCODING || (head_.encoded && code == CURLE_WRITE_ERROR))
      return lie("says that its bytes are compressed, but they are not");
    if (code == CURLE_PARTIAL_FILE)
      return lie(length_ ? fmt::format("broke off after {} of {} bytes", received_, *length_)
                         : fmt::format("broke off after {} bytes", received_));
    return Error(Code::upstream, fmt::format("{} could not be fetched: {}", shown_, curl_.easy_strerror(code)))
        .field("url")
        .hint("is the address right, and can the server reach it? http_proxy and https_proxy are honoured");
  }

  std::optional<Error> status_error() {
    if (has_excess_) return lie("sent more bytes than it announced");
    if (!redirect_.empty() || head_.status == 200 || head_.status == 206) return std::nullopt;
    if (head_.status == 304 && !(request_.etag.empty() && request_.last_modified.empty())) return std::nullopt;
    retry_ = head_.status >= 500 || head_.status == 429 || head_.status == 408;
    return Error(Code::upstream, fmt::format("{} answered with status {}", shown_, head_.status))
        .field("url")
        .hint("check the address in a browser; the dataset itself is unchanged");
  }

  const CurlLibrary& curl_;
  const FetchRules& rules_;
  const FetchRequest& request_;
  const FetchSink& sink_;
  const std::atomic<bool>& cancelled_;
  std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> easy_;
  std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> headers_;
  std::string shown_, redirect_;
  FetchHead head_;
  std::optional<ContentRange> range_;
  std::optional<std::uint64_t> length_;
  std::uint64_t received_ = 0;
  bool is_direct_ = true, is_refused_ = false, has_begun_ = false, has_excess_ = false, retry_ = false;
  std::optional<Error> failure_;
};

}  // namespace

FetchOutcome fetch_url(const FetchRules& rules, const FetchRequest& request, const FetchSink& sink,
                       const std::atomic<bool>& cancelled) {
  auto curl = CurlLibrary::load();
  if (!curl) return {{}, curl.error(), false};
  std::string next = request.url;
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    auto url = parse_web_url(next);
    if (!url) return {{}, url.error(), false};
    Hop hop(**curl, rules, request, sink, cancelled);
    auto outcome = hop.run(*url);
    if (outcome.error || hop.redirect().empty()) return outcome;
    next = hop.redirect();
  }
  return {{},
          Error(Code::upstream, fmt::format("{} redirects more than {} times", request.url, kMaxRedirects))
              .field("url")
              .hint("it goes round in circles; use the address of the file itself"),
          false};
}

}  // namespace lathe::net
