// CurlLibrary: libcurl, loaded when the first URL is fetched. Linking it would cost every start of `lathe` the loading
// of two dozen libraries, and a runner starts for every node task (bench exec-cost).
#pragma once

#include "base/error.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

namespace lathe::net {

struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;

  // Loaded once for the whole process; unsupported, with the package to install, when it is not there. Thread-safe.
  static base::Result<const CurlLibrary*> load();
};

}  // namespace lathe::net
