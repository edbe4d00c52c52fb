// Tokens and the audit trail.
#include "base/strings.h"
#include "db/audit.h"
#include "db/tokens.h"
#include "model/names.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "wire/json.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::int64_t kMicrosPerDay = 86'400'000'000;
constexpr std::size_t kMaxTokenName = 128;

json::object token_json(const db::tokens::Token& token) {
  auto time = [](const std::optional<base::UtcTime>& at) -> json::value {
    if (!at) return nullptr;
    return json::string(base::format_utc(*at));
  };
  return {{"id", token.id},
          {"name", token.name},
          {"role", token.role},
          {"workspace", token.workspace},
          {"created", base::format_utc(token.created)},
          {"expires", time(token.expires)},
          {"last_used", time(token.last_used)},
          {"revoked", time(token.revoked)}};
}

void check_token_name(const std::string& name) {
  base::value_or_throw(model::check_tag("name", "name", name));
  if (name.empty() || name.size() > kMaxTokenName)
    throw Error(Code::invalid, "a token's name is too short or too long")
        .field("name")
        .hint(fmt::format("use 1 to {} bytes", kMaxTokenName));
  if (name == kAdminTokenName)
    throw Error(Code::invalid, fmt::format("the name {} belongs to the token of the state folder", name))
        .field("name")
        .hint("choose another");
}

Task<Response> create_token(Services& services, Request& request) {
  auto body = co_await json_body(request);
  NewToken wanted;
  int days = 90;
  wire::Fields fields(body);
  fields.need("name")
      .need("role")
      .text("name", wanted.name)
      .text("workspace", wanted.workspace)
      .integer("expires_in_days", days);
  fields.word("role", wanted.role, role_from_name, "viewer, contributor, operator or admin");
  base::value_or_throw(fields.finish());
  check_token_name(wanted.name);
  base::value_or_throw(model::check_range("expires_in_days", days, 1, 3650));
  if (fields.has("workspace")) base::value_or_throw(model::check_workspace_name(wanted.workspace));
  wanted.expires = base::UtcTime{services.core.clock.utc().micros + days * kMicrosPerDay};
  auto created = co_await services.authority.create(std::move(wanted), caller_of(request));
  auto answer = token_json(created.row);
  answer["token"] = created.secret;
  co_return json_response(answer, 201);
}

Task<Response> list_tokens(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto limit = page_limit(request);
  const auto cursor = page_cursor(request);
  const auto before = cursor.empty() ? INT64_MAX : db::read_number_cursor("tokens", cursor);
  auto rows = co_await services.core.database.read(
      [&](db::Connection& connection) { return db::tokens::list_before(connection, before, limit + 1); });
  auto page =
      db::make_page(std::move(rows), limit, [](const auto& last) { return db::make_cursor("tokens", last.id); });
  json::array items;
  for (const auto& row : page.items) items.push_back(token_json(row));
  co_return list_response(std::move(items), page.next);
}

Task<Response> revoke_token(Services& services, Request& request) {
  auto id = base::parse_u64(request.params.at("token"));
  if (!id || *id > INT64_MAX) throw Error(Code::invalid, "a token is named by its number").field("token");
  co_await services.authority.revoke(static_cast<std::int64_t>(*id), caller_of(request));
  co_return Response::empty(204);
}

Task<Response> list_audit(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  int limit = page_limit(request);
  auto page = co_await services.core.database.read(
      [&](db::Connection& connection) { return db::audit::list(connection, limit, page_cursor(request)); });
  json::array items;
  for (const auto& row : page.items)
    items.push_back({{"id", row.id},
                     {"at", base::format_utc(row.at)},
                     {"actor", row.actor},
                     {"source", row.source},
                     {"action", row.action},
                     {"object", row.object},
                     {"detail", row.detail}});
  co_return list_response(std::move(items), page.next);
}

}  // namespace

void add_token_routes(net::Router& router, Services& services) {
  router.add({"GET", "/api/v1/tokens", "listTokens", Permission::administer, endpoint(services, list_tokens)});
  router.add({"POST", "/api/v1/tokens", "createToken", Permission::administer, endpoint(services, create_token)});
  router.add(
      {"DELETE", "/api/v1/tokens/{token}", "revokeToken", Permission::administer, endpoint(services, revoke_token)});
  router.add({"GET", "/api/v1/audit", "listAudit", Permission::administer, endpoint(services, list_audit)});
}

}  // namespace lathe::server
