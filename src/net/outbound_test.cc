// Where the server may go: URLs, proxies, private addresses, ranges.
#include <gtest/gtest.h>

#include "net/address.h"
#include "net/outbound.h"
#include "net/response_range.h"
#include "net/web_url.h"

namespace lathe::net {
namespace {

WebUrl url(std::string_view text) { return base::value_or_throw(parse_web_url(text)); }

TEST(UrlText, IsTakenApartAndPutTogetherAgain) {
  auto parts = url("HTTP://Example.org:8080/a/b%20c?x=1#here");
  EXPECT_EQ(parts.scheme, "http");
  EXPECT_EQ(parts.host, "example.org");
  EXPECT_EQ(parts.port, 8080);
  EXPECT_EQ(parts.path, "/a/b%20c");
  EXPECT_EQ(parts.query, "x=1");
  EXPECT_EQ(parts.text(), "http://example.org:8080/a/b%20c?x=1");
  EXPECT_EQ(url("https://example.org").text(), "https://example.org/");
  EXPECT_EQ(url("https://example.org:443/a").authority(), "example.org");
  EXPECT_EQ(url("http://[::1]:80/").host, "::1");
  EXPECT_EQ(url("http://host?q").path, "/");
}

TEST(UrlText, OfAnotherKindIsRefused) {
  for (const char* text :
       {"", "file:///etc/passwd", "ftp://a/b", "http://", "http://a b/", "http://a:0/", "http://a:99999/",
        "http://user:secret@host/", "http://[::1/", "http://h\r\nX: y/", "//host/a", "http://a\\b/"}) {
    auto parsed = parse_web_url(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().field(), "url");
    EXPECT_EQ(parsed.error().message().find("secret"), std::string::npos) << "a password is not repeated";
  }
}

TEST(Proxy, IsChosenByTheScheme) {
  ProxySettings settings{"http://p:1", "http://p:2", ""};
  EXPECT_EQ(proxy_for(settings, url("http://a/")), "http://p:1");
  EXPECT_EQ(proxy_for(settings, url("https://a/")), "http://p:2");
  EXPECT_EQ(proxy_for({}, url("http://a/")), "");
}

TEST(Proxy, IsLeftOutForExceptedHosts) {
  ProxySettings settings{"http://p:1", "", "localhost, .example.org,10.0.0.1:8080"};
  EXPECT_EQ(proxy_for(settings, url("http://localhost/")), "");
  EXPECT_EQ(proxy_for(settings, url("http://example.org/")), "");
  EXPECT_EQ(proxy_for(settings, url("http://data.Example.org/")), "");
  EXPECT_EQ(proxy_for(settings, url("http://10.0.0.1:8080/")), "");
  EXPECT_NE(proxy_for(settings, url("http://10.0.0.1/")), "");
  EXPECT_NE(proxy_for(settings, url("http://badexample.org/")), "");
  settings.none = "*";
  EXPECT_EQ(proxy_for(settings, url("http://a/")), "");
}

bool is_private(const char* text) { return is_private_address(*base::value_or_throw(resolve(text, 80)).front().raw()); }

TEST(PrivateAddresses, AreKnown) {
  for (const char* text : {"127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "::1",
                           "fe80::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "100.64.0.1", "224.0.0.1",
                           "2002:7f00:1::1", "2002:a00:1::", "::127.0.0.1", "::10.0.0.1", "64:ff9b:1::a00:1", "2001:0:1::1"})
    EXPECT_TRUE(is_private(text)) << text;
  for (const char* text : {"8.8.8.8", "172.32.0.1", "192.169.0.1", "2606:4700::1", "::ffff:8.8.8.8"})
    EXPECT_FALSE(is_private(text)) << text;
}

TEST(AddressRanges, HoldWhatTheySay) {
  auto holds = [](const char* range, const char* address) {
    return base::value_or_throw(AddressRange::parse(range))
        .contains(*base::value_or_throw(resolve(address, 1))[0].raw());
  };
  EXPECT_TRUE(holds("10.0.0.0/9", "10.127.255.255"));
  EXPECT_FALSE(holds("10.0.0.0/9", "10.128.0.0"));
  EXPECT_TRUE(holds("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(holds("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(holds("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(holds("0.0.0.0/0", "::1"));
  for (const char* text : {"", "10.0.0.0/33", "ten", "10.0.0.0/", "::/129", "10.0.0.0/-1"})
    EXPECT_FALSE(AddressRange::parse(text)) << text;
}

TEST(ContentRanges, AreReadStrictly) {
  auto range = parse_content_range("bytes 5-9/100");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5u);
  EXPECT_EQ(range->size, 100u);
  EXPECT_FALSE(parse_content_range("bytes 0-0/*")->size);
  for (const char* text : {"", "bytes", "bytes 9-5/100", "bytes 5-9", "bytes 5-100/100", "lines 1-2/3", "bytes */100"})
    EXPECT_FALSE(parse_content_range(text)) << text;
}

}  // namespace
}  // namespace lathe::net
