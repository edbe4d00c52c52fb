#include <algorithm>
#include <array>
#include <string_view>

#include "launch/launcher.h"

namespace lathe::launch {
namespace {

constexpr auto kAllowed = std::to_array<std::string_view>({
    "PATH",       "HOME",      "USER",       "LOGNAME",   "SHELL",       "LANG",         "LANGUAGE",
    "LC_*",       "TZ",        "TERM",       "COLUMNS",   "LINES",       "LD_LIBRARY_PATH", "PYTHON*",
    "CUDA_*",     "NVIDIA_*",  "NCCL_*",     "CUDNN_*",   "XLA_*",       "TF_*",         "ROCR_*",
    "HIP_*",      "OMP_*",     "KMP_*",      "GOMP_*",    "MKL_*",       "OPENBLAS_*",   "NUMEXPR_*",
    "OMPI_*",     "PMIX_*",    "PRTE_*",     "UCX_*",     "FI_*",        "HOROVOD_*",    "SSL_CERT_FILE",
    "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "MPLBACKEND", "JAX_*", "TORCH_*"});

constexpr std::array<std::string_view, 8> kProxies{"http_proxy", "https_proxy", "ftp_proxy",  "all_proxy",
                                                   "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY"};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Names under which secrets are kept, also among those that begin as allowed ones do.
bool may_be_secret(std::string_view name) {
  for (std::string_view word : {"TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY"})
    if (name.find(word) != name.npos) return true;
  return false;
}

bool is_allowed(std::string_view name, std::string_view value, const std::vector<std::string>& more) {
  if (std::ranges::any_of(more, [&](const auto& pattern) { return matches(name, pattern); })) return true;
  if (name == "no_proxy" || name == "NO_PROXY") return true;
  if (std::ranges::find(kProxies, name) != kProxies.end()) return value.find('@') == value.npos;
  return !may_be_secret(name) &&
         std::ranges::any_of(kAllowed, [&](std::string_view pattern) { return matches(name, pattern); });
}

}  // namespace

Variables allowed_environment(const std::vector<std::string>& more) {
  Variables out = inherited_environment();
  std::erase_if(out, [&](const auto& variable) { return !is_allowed(variable.first, variable.second, more); });
  return out;
}

}  // namespace lathe::launch
