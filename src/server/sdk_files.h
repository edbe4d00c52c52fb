// The wheels of the Python SDK, made with the binary and carried in it: a client gets exactly the server's version.
#pragma once

#include <span>
#include <string_view>

namespace lathe::server {

struct SdkFile {
  std::string_view name;  // "lathe_sdk-0.1.0-py3-none-any.whl"
  std::string_view bytes;
};

std::span<const SdkFile> sdk_files();

}  // namespace lathe::server
