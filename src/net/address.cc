#include "net/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

const sockaddr_in& v4(const Address& address) { return reinterpret_cast<const sockaddr_in&>(address.storage); }
const sockaddr_in6& v6(const Address& address) { return reinterpret_cast<const sockaddr_in6&>(address.storage); }

}  // namespace

base::Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  Address address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    address.size = sizeof four;
    return std::vector{address};
  }
  if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    address.size = sizeof six;
    return std::vector{address};
  }
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0)
    return base::fail(
        Error(Code::unavailable, fmt::format("the host {} is not known: {}", host, ::gai_strerror(status)))
            .hint("check the name, or use its address"));
  std::vector<Address> all;
  for (const addrinfo* entry = found; entry; entry = entry->ai_next) {
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    all.push_back(address);
  }
  ::freeaddrinfo(found);
  return all;
}

bool is_loopback(const Address& address) {
  if (address.storage.ss_family == AF_INET) return ntohl(v4(address).sin_addr.s_addr) >> 24 == 127;
  return address.storage.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6(address).sin6_addr);
}

std::string to_text(const Address& address, bool without_port) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.storage.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &v4(address).sin_addr, text, sizeof text);
    return without_port ? text : fmt::format("{}:{}", text, ntohs(v4(address).sin_port));
  }
  if (address.storage.ss_family == AF_INET6) {
    const auto& six = v6(address);
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
      ::inet_ntop(AF_INET, &six.sin6_addr.s6_addr[12], text, sizeof text);
    else
      ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    return without_port ? text : fmt::format("[{}]:{}", text, ntohs(six.sin6_port));
  }
  return text;
}

Address local_address(int fd) {
  Address address;
  address.size = sizeof address.storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

base::Result<UnixAddress> UnixAddress::make(const std::filesystem::path& path) {
  UnixAddress out;
  auto& unix_address = reinterpret_cast<sockaddr_un&>(out.address_.storage);
  std::string name = path.string();
  if (name.size() >= sizeof unix_address.sun_path) {
    out.folder_ = ::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out.folder_ < 0) return base::fail(base::errno_error(errno, "opening the folder of the socket " + name));
    name = fmt::format("/proc/self/fd/{}/{}", out.folder_, path.filename().string());
    if (name.size() >= sizeof unix_address.sun_path)
      return base::fail(
          Error(Code::invalid, "the name of the socket is too long: " + path.string()).hint("use a shorter name"));
  }
  unix_address.sun_family = AF_UNIX;
  std::memcpy(unix_address.sun_path, name.c_str(), name.size() + 1);
  out.address_.size = sizeof unix_address;
  return out;
}

UnixAddress::~UnixAddress() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace lathe::net
