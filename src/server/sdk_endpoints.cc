// The SDK as a package index (the "simple" form that pip and uv read), open to everybody: whoever installs it has no
// token yet, and there is nothing secret in it.
#include <algorithm>

#include "base/digest.h"
#include "server/alias_wheels.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/sdk_files.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;

namespace {

constexpr std::string_view kProject = "lathe-sdk";

// "lathe_sdk-0.1.0-py3-none-any.whl" belongs to the project "lathe-sdk".
std::string project_of(const SdkFile& file) {
  std::string name(file.name.substr(0, file.name.find('-')));
  std::ranges::replace(name, '_', '-');
  return name;
}

Response html(std::string_view title, std::string_view lines) {
  Response response;
  response.headers.emplace("content-type", "text/html; charset=utf-8");
  response.body =
      fmt::format("<!DOCTYPE html>\n<html><head><title>{}</title></head><body>\n{}</body></html>\n", title, lines);
  return response;
}

Task<Response> list_projects(Services&, Request& request) {
  allow_query(request, {});
  std::string lines;
  for (const auto& file : sdk_files()) lines += fmt::format("<a href=\"{0}/\">{0}</a><br>\n", project_of(file));
  co_return html("Packages of this server", lines);
}

bool is_alias(const std::string& project) {
  return project != kProject &&
         std::ranges::any_of(sdk_files(), [&](const auto& file) { return project_of(file) == project; });
}

Task<Response> list_files(Services&, Request& request) {
  allow_query(request, {});
  const auto& project = request.params.at("project");
  std::string lines;
  for (const auto& file : sdk_files())
    if (project_of(file) == project)
      lines += fmt::format("<a href=\"../../files/{0}#sha256={1}\">{0}</a><br>\n", file.name,
                           base::sha256(file.bytes).hex());
  if (is_alias(project))
    for (const auto& version : alias_versions(project))
      if (auto name = alias_wheel_name(project, version); lines.find(name) == lines.npos)
        lines += fmt::format("<a href=\"../../files/{0}\">{0}</a><br>\n", name);
  if (lines.empty())
    throw Error(Code::not_found, "this server has no such package")
        .field("project")
        .hint("it has the SDK only; other packages come from your usual index (--extra-index-url)");
  co_return html(project, lines);
}

Task<Response> get_file(Services&, Request& request) {
  allow_query(request, {});
  const auto& name = request.params.at("file");
  const auto found = std::ranges::find(sdk_files(), name, &SdkFile::name);
  std::string project, version;
  Response response;
  response.headers.emplace("content-type", "application/octet-stream");
  if (found != sdk_files().end())
    response.body = std::string(found->bytes);
  else if (parse_alias_wheel_name(name, project, version) && is_alias(project))
    response.body = make_alias_wheel(project, version, fmt::format("{} (=={})", kProject, LATHE_VERSION));
  else
    throw Error(Code::not_found, "this server has no such file").field("file");
  co_return response;
}

}  // namespace

void add_sdk_routes(net::Router& router, Services& services) {
  router.add({"GET", "/sdk/simple/", "listSdkProjects", Permission::open, endpoint(services, list_projects)});
  router.add({"GET", "/sdk/simple/{project}/", "listSdkFiles", Permission::open, endpoint(services, list_files)});
  router.add({"GET", "/sdk/files/{file}", "getSdkFile", Permission::open, endpoint(services, get_file)});
}

}  // namespace lathe::server
