// Socket addresses from text, for both ends.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::net {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// The addresses of a host name or literal; asks the resolver only for a name.
base::Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);
// 127.0.0.0/8, ::1.
bool is_loopback(const Address& address);
// "127.0.0.1:4711", "[::1]:4711"; without_port: "127.0.0.1", "::1".
std::string to_text(const Address& address, bool without_port = false);
Address local_address(int fd);

// The address of a Unix socket. A path longer than the kernel's 107 bytes goes through a descriptor of its folder,
// which lives as long as this value.
class UnixAddress {
 public:
  static base::Result<UnixAddress> make(const std::filesystem::path& path);
  UnixAddress(UnixAddress&& other) noexcept : address_(other.address_), folder_(std::exchange(other.folder_, -1)) {}
  ~UnixAddress();
  const Address& address() const { return address_; }

 private:
  UnixAddress() = default;
  Address address_;
  int folder_ = -1;
};

}  // namespace lathe::net
