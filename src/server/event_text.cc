#include "server/event_text.h"

#include "base/strings.h"

namespace lathe::server {

namespace json = boost::json;

json::object event_json(const db::events::Event& event) {
  auto name = [](const std::optional<model::RunState>& state) -> json::value {
    if (!state) return nullptr;
    return json::string(model::state_name(*state));
  };
  json::object out{{"id", event.id},       {"kind", event.kind},     {"from", name(event.from)},
                   {"to", name(event.to)}, {"reason", event.reason}, {"at", base::format_utc(event.at)}};
  if (event.kind == db::events::kBuildKind)
    out["build"] = static_cast<std::int64_t>(base::parse_u64(event.run_id.value).value_or(0));
  else
    out["run_id"] = event.run_id.value;
  return out;
}

std::string event_block(const db::events::Event& event) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.id, event.kind, json::serialize(event_json(event)));
}

}  // namespace lathe::server
