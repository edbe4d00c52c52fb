#include "envs/tool_variables.h"

#include <algorithm>
#include <array>

#include "sys/command.h"

namespace lathe::envs {
namespace {

constexpr auto kAllowed = std::to_array<std::string_view>({
    // any program
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TERM", "LD_LIBRARY_PATH",
    "XDG_*",
    // the index
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
    "NETRC", "PIP_*", "UV_*", "RATTLER_*", "CONDA_OVERRIDE_*",
    // compilers
    "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "MAKE", "CPATH",
    "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_*", "CUDA_*", "CUDACXX", "NVCC_*",
    "HOROVOD_*", "OMPI_*", "MPICC", "MPICXX", "SOURCE_DATE_EPOCH",
    // container engines
    "DOCKER_*", "CONTAINER_*", "CONTAINERS_*", "REGISTRY_AUTH_FILE", "BUILDAH_*", "STORAGE_*", "_CONTAINERS_*",
    "DBUS_SESSION_BUS_ADDRESS"});

constexpr std::array<std::string_view, 6> kProxies{"http_proxy",  "https_proxy", "all_proxy",
                                                   "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

bool reaches_tools(std::string_view name, const std::vector<std::string>& named_by_site) {
  auto is_meant = [&](std::string_view pattern) { return matches(name, pattern); };
  return std::ranges::any_of(kAllowed, is_meant) || std::ranges::any_of(named_by_site, is_meant);
}

std::vector<std::string> tool_variables(const Settings& settings) {
  auto environment = sys::current_environment();
  std::erase_if(environment, [&](const std::string& one) {
    return !reaches_tools(std::string_view(one).substr(0, one.find('=')), settings.variables);
  });
  if (settings.proxy.empty()) return environment;
  for (std::string_view name : kProxies) sys::set_variable(environment, name, settings.proxy);
  for (const char* name : {"no_proxy", "NO_PROXY"}) sys::unset_variable(environment, name);
  return environment;
}

}  // namespace lathe::envs
