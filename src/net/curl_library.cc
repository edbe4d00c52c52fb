#include "net/curl_library.h"

#include <dlfcn.h>

namespace lathe::net {
namespace {

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

base::Result<CurlLibrary> load_library() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  CurlLibrary curl{};
  decltype(&::curl_global_init) global_init = nullptr;
  bool whole =
      library && find(library, "curl_easy_init", curl.easy_init) &&
      find(library, "curl_easy_setopt", curl.easy_setopt) && find(library, "curl_easy_perform", curl.easy_perform) &&
      find(library, "curl_easy_getinfo", curl.easy_getinfo) && find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
      find(library, "curl_easy_strerror", curl.easy_strerror) &&
      find(library, "curl_slist_append", curl.slist_append) &&
      find(library, "curl_slist_free_all", curl.slist_free_all) && find(library, "curl_global_init", global_init) &&
      global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!whole)
    return base::fail(base::Error(base::Code::unsupported, "libcurl is not installed, so no URL can be fetched")
                          .hint("apt-get install libcurl4"));
  return curl;
}

}  // namespace

base::Result<const CurlLibrary*> CurlLibrary::load() {
  static const base::Result<CurlLibrary> library = load_library();
  if (!library) return base::fail(library.error());
  return &*library;
}

}  // namespace lathe::net
