// What a box and its owner say to each other, as text: parts with a NUL behind each, which no path, argument or variable
// can hold.
#include "base/strings.h"
#include "sys/box_init.h"

namespace lathe::sys {

std::string encode_program(const SpawnRequest& program, const std::string& note) {
  std::string out;
  auto add = [&](std::string_view part) { out.append(part).push_back('\0'); };
  add(note);
  add(program.directory);
  add(std::to_string(program.argv.size()));
  for (const auto* list : {&program.argv, &program.environment})
    for (const auto& part : *list) add(part);
  return out;
}

BoxedProgram decode_program(std::string_view text) {
  BoxedProgram out;
  const auto parts = base::split(text, '\0');
  if (parts.size() < 4) return out;
  out.note = parts[0];
  out.request.directory = parts[1];
  const auto words = base::parse_u64(parts[2]).value_or(0);
  for (std::size_t i = 3; i + 1 < parts.size(); ++i)  // the last part is what follows the last NUL: nothing
    (i < 3 + words ? out.request.argv : out.request.environment).emplace_back(parts[i]);
  return out;
}

std::string encode_answer(const base::Result<void>& outcome) {
  if (outcome) return "+";
  return fmt::format("{}\n{}", static_cast<int>(outcome.error().code()), outcome.error().text());
}

base::Result<void> decode_answer(std::string_view text) {
  if (text == "+") return {};
  const auto line = text.find('\n');
  const auto code = base::parse_u64(text.substr(0, line));
  if (!code || line == text.npos) return base::fail(base::Code::io, "the box gave no answer");
  return base::fail(static_cast<base::Code>(*code), "{}", text.substr(line + 1));
}

}  // namespace lathe::sys
