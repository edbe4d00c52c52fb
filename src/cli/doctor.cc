#include "cli/doctor.h"

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

std::string_view word(Verdict verdict) {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::missing ? "missing" : "warning";
}

Finding examine_server(Call& call) {
  auto answer = call.new_client()->get("/healthz");
  if (answer) return {.what = "server", .detail = "answers"};
  return {"server", Verdict::missing, answer.error().message(),
          answer.error().hint().empty() ? "start it: lathe up" : answer.error().hint()};
}

base::Result<int> doctor(Call& call) {
  auto variables = real_surroundings().variables;
  auto findings = examine_programs(variables["PATH"]);
  auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  add(examine_environments({variables["PATH"], variables["LATHE_UV"], variables["HOME"]}));
  add(examine_kernel());
  add(examine_disk(call.settings.state));
  add({examine_server(call)});
  if (call.settings.json) {
    json::array out;
    for (const auto& finding : findings)
      out.push_back(
          json::object{{"what", finding.what},
                       {"verdict", json::string_view(word(finding.verdict).data(), word(finding.verdict).size())},
                       {"detail", finding.detail},
                       {"advice", finding.advice}});
    return write_data(pretty_json(out)), 0;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& finding : findings)
    rows.push_back({finding.what, std::string(word(finding.verdict)), finding.detail, finding.advice});
  write_data(render_table({"WHAT", "STATE", "FOUND", "WHAT TO DO"}, rows));
  return 0;
}

}  // namespace

constinit const Command kDoctor{
    .path = "doctor", .summary = "Say what this machine offers and lacks, and what to do about it", .run = doctor};

}  // namespace lathe::cli
