#include "cli/box_warning.h"

#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {

void warn_where_runs_have_no_boxes(Call& call) {
  auto text = call.new_client()->get("/api/v1/server");
  if (!text) return;
  auto server = parse_json(*text, "the server's answer");
  const auto why = server ? text_at(*server, "/why_no_boxes") : std::string();
  if (why.empty()) return;
  say("runs of this server have no boxes ({}): whoever may submit one can read the server's folder, its keys and the "
      "admin token with it, and processes that leave a run may outlive it",
      why);
}

}  // namespace lathe::cli
