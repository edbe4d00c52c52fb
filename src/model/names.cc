#include "model/names.h"

#include "base/strings.h"

namespace lathe::model {
namespace {

using base::Code;
using base::Error;
using base::Result;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<Error> refuse(std::string_view field, std::string_view value, std::string_view why, std::string hint) {
  return base::fail(Error(Code::invalid, fmt::format("{} '{}' {}", field, base::printable(value, 80), why))
                        .field(std::string(field))
                        .hint(std::move(hint)));
}

std::unexpected<Error> refuse_size(std::string_view field, std::string_view what, std::size_t size, std::size_t limit) {
  return base::fail(
      Error(Code::too_large, fmt::format("{} has {} {}; at most {} are allowed", field, size, what, limit))
          .field(std::string(field))
          .hint("put large or many values into a file of the snapshot"));
}

// What one kind of name may look like.
struct NameRule {
  std::string_view field;
  std::size_t longest;
  std::string_view punctuation;        // allowed besides letters and digits
  std::string_view first_punctuation;  // of these, allowed as first character
};

Result<void> check_name(const NameRule& rule, std::string_view name) {
  auto hint = [&] {
    std::string first = rule.first_punctuation.empty()
                            ? std::string("a letter or digit")
                            : fmt::format("a letter, a digit or one of {}", rule.first_punctuation);
    return fmt::format("use 1 to {} letters, digits or {} and begin with {}", rule.longest, rule.punctuation, first);
  };
  if (name.empty()) return refuse(rule.field, name, "is empty", hint());
  if (name.size() > rule.longest)
    return refuse(rule.field, name, fmt::format("has {} characters", name.size()), hint());
  for (char c : name)
    if (!is_letter(c) && !is_digit(c) && !rule.punctuation.contains(c))
      return refuse(rule.field, name, fmt::format("contains '{}'", base::printable(std::string_view(&c, 1))), hint());
  if (!is_letter(name[0]) && !is_digit(name[0]) && !rule.first_punctuation.contains(name[0]))
    return refuse(rule.field, name, fmt::format("begins with '{}'", name[0]), hint());
  return {};
}

// Text that people read: valid UTF-8 without C0, DEL or C1 control characters.
bool is_clean_text(std::string_view text) {
  if (!base::is_valid_utf8(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return false;
    if (byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) return false;
  }
  return true;
}

constexpr std::string_view kCleanHint = "use UTF-8 text without control characters such as line breaks";

}  // namespace

Result<void> check_run_id(std::string_view id) { return check_name({"id", 256, "_.-", "_"}, id); }

Result<void> check_experiment_name(std::string_view name) { return check_name({"experiment", 255, "_.-", ""}, name); }

Result<void> check_workspace_name(std::string_view name) { return check_name({"workspace", 255, "_.-", ""}, name); }

Result<void> check_compute_name(std::string_view name) { return check_name({"compute", 24, "-_", ""}, name); }

Result<void> check_secret_name(std::string_view name) { return check_name({"secret", 127, "_.-", ""}, name); }

Result<void> check_metric_source(std::string_view source) { return check_name({"source", 64, "_.-", ""}, source); }

Result<void> check_datastore_name(std::string_view name) { return check_name({"datastore", 255, "_-", ""}, name); }

Result<void> check_registry_name(std::string_view field, std::string_view name) {
  LATHE_TRY_VOID(check_name({field, 255, "_.- ", ""}, name));
  if (name.back() == ' ') return refuse(field, name, "ends with a blank", "leave it out");
  if (name == "by-id") return refuse(field, name, "is a word of the API", "choose another name");
  return {};
}

Result<void> check_description(std::string_view text) {
  if (text.size() > kMaxDescriptionBytes) return refuse_size("description", "bytes", text.size(), kMaxDescriptionBytes);
  std::string flat(text);
  for (char& c : flat)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  if (is_clean_text(flat)) return {};
  return refuse("description", text, "is not plain text", "use UTF-8 text without control characters");
}

Result<void> check_variable_name(std::string_view name) {
  constexpr std::string_view kField = "environment.variables";
  std::string hint = "use letters, digits and _, not beginning with a digit, at most 255 characters";
  if (name.empty() || name.size() > 255) return refuse(kField, name, "has no usable length", hint);
  if (is_digit(name[0])) return refuse(kField, name, "begins with a digit", hint);
  for (char c : name)
    if (!is_letter(c) && !is_digit(c) && c != '_')
      return refuse(kField, name, fmt::format("contains '{}'", base::printable(std::string_view(&c, 1))), hint);
  return {};
}

Result<void> check_tag(std::string_view field, std::string_view key, std::string_view value) {
  if (key.empty()) return refuse(field, key, "is an empty key", "give every tag a name");
  if (key.size() > kMaxTagKeyBytes)
    return refuse(field, key, fmt::format("has {} bytes", key.size()),
                  fmt::format("use at most {} bytes", kMaxTagKeyBytes));
  if (!is_clean_text(key)) return refuse(field, key, "is not plain text", std::string(kCleanHint));
  if (value.size() > kMaxTagValueBytes)
    return refuse(field, key, fmt::format("has a value of {} bytes", value.size()),
                  fmt::format("use at most {} bytes, or write a file to ./outputs", kMaxTagValueBytes));
  if (!is_clean_text(value)) return refuse(field, key, "has a value that is not plain text", std::string(kCleanHint));
  return {};
}

Result<void> check_tags(const Tags& tags) {
  if (tags.size() > kMaxTags) return refuse_size("tags", "entries", tags.size(), kMaxTags);
  for (const auto& [key, value] : tags) LATHE_TRY_VOID(check_tag("tags", key, value.value_or("")));
  return {};
}

Result<void> check_pairs(std::string_view field, const std::map<std::string, std::string>& pairs, std::size_t most) {
  if (pairs.size() > most) return refuse_size(field, "entries", pairs.size(), most);
  for (const auto& [key, value] : pairs) LATHE_TRY_VOID(check_tag(field, key, value));
  return {};
}

Result<void> check_properties(const std::map<std::string, std::string>& properties) {
  return check_pairs("properties", properties, kMaxProperties);
}

Result<void> check_label(std::string_view field, std::string_view label) {
  if (label.size() > kMaxTagKeyBytes || !is_clean_text(label))
    return refuse(field, label, "is too long or not plain text",
                  fmt::format("use at most {} bytes of text on one line", kMaxTagKeyBytes));
  return {};
}

Result<void> check_artifact_path(std::string_view field, std::string_view path) {
  std::string hint = "use a relative path like outputs/model/weights.h5";
  if (path.empty()) return refuse(field, path, "is empty", hint);
  if (path.size() > kMaxPathBytes)
    return refuse(field, path, fmt::format("has {} bytes; at most {} are allowed", path.size(), kMaxPathBytes), hint);
  if (!is_clean_text(path)) return refuse(field, path, "is not plain text", std::string(kCleanHint));
  if (path[0] == '/') return refuse(field, path, "is absolute", hint);
  for (std::string_view part : base::split(path, '/')) {
    if (part.empty()) return refuse(field, path, "has an empty part", hint);
    if (part == "." || part == "..") return refuse(field, path, fmt::format("has the part '{}'", part), hint);
    if (part.size() > 255) return refuse(field, path, "has a part of more than 255 bytes", hint);
  }
  return {};
}

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return refuse(field, std::to_string(value), value < low ? "is too small" : "is too large",
                fmt::format("use a whole number from {} to {}", low, high));
}

namespace {

// Arguments keep line breaks and any other text; only NUL cannot be passed to a process.
Result<void> check_strings(std::string_view field, const std::vector<std::string>& strings) {
  if (strings.size() > kMaxArguments) return refuse_size(field, "entries", strings.size(), kMaxArguments);
  for (const auto& text : strings) {
    if (text.size() > kMaxArgumentBytes)
      return refuse_size(field, "bytes in one entry", text.size(), kMaxArgumentBytes);
    if (text.contains('\0')) return refuse(field, text, "contains a NUL byte", "no process can receive one; remove it");
    if (!base::is_valid_utf8(text)) return refuse(field, text, "is not UTF-8", "encode it, or pass it in a file");
  }
  return {};
}

Result<void> check_command(const Command& command) {
  if (command.script.empty() == command.command.empty())
    return base::fail(Error(Code::invalid, command.script.empty() ? "neither script nor command is given"
                                                                  : "both script and command are given")
                          .field("script")
                          .hint("give a script of the snapshot, or a command with its own argument vector"));
  if (!command.script.empty()) LATHE_TRY_VOID(check_artifact_path("script", command.script));
  if (!command.command.empty() && command.command[0].empty())
    return refuse("command", "", "has an empty first entry", "the first entry is the program to start");
  LATHE_TRY_VOID(check_strings("command", command.command));
  LATHE_TRY_VOID(check_strings("arguments", command.arguments));
  std::size_t total = 0;
  for (const auto* list : {&command.command, &command.arguments})
    for (const auto& text : *list) total += text.size() + 1;
  if (total > kMaxCommandBytes) return refuse_size("arguments", "bytes", total, kMaxCommandBytes);
  return {};
}

Result<void> check_environment(const EnvironmentRef& environment) {
  const std::string& interpreter = environment.interpreter;
  constexpr std::string_view kField = "environment.interpreter";
  LATHE_TRY_VOID(check_label("environment.name", environment.name));
  LATHE_TRY_VOID(check_label("environment.version", environment.version));
  if (!interpreter.empty() && (interpreter[0] != '/' || interpreter.size() > 4095 || !is_clean_text(interpreter)))
    return refuse(kField, interpreter, "is not an absolute path", "e.g. /usr/bin/python3");
  if (environment.variables.size() > kMaxVariables)
    return refuse_size("environment.variables", "entries", environment.variables.size(), kMaxVariables);
  std::size_t total = 0;
  for (const auto& [name, value] : environment.variables) {
    LATHE_TRY_VOID(check_variable_name(name));
    LATHE_TRY_VOID(check_strings("environment.variables", {value}));
    total += name.size() + value.size() + 2;
  }
  if (total > kMaxCommandBytes) return refuse_size("environment.variables", "bytes", total, kMaxCommandBytes);
  return {};
}

// What an interactive run has no use for is refused: somebody who asks for nodes must not wait for them in vain.
Result<void> check_interactive(const RunSpec& spec) {
  auto refuse_field = [](std::string_view field) {
    return base::fail(Error(Code::invalid, fmt::format("an interactive run has no {}", field))
                          .field(std::string(field))
                          .hint("its client does the work; leave it out, or submit a script"));
  };
  if (!spec.command.script.empty()) return refuse_field("script");
  if (!spec.command.command.empty()) return refuse_field("command");
  if (!spec.command.arguments.empty()) return refuse_field("arguments");
  if (!spec.compute.empty()) return refuse_field("compute");
  if (!spec.inputs.empty()) return refuse_field("inputs");
  if (!spec.outputs.empty()) return refuse_field("outputs");
  if (spec.node_count != 1) return refuse_field("node_count");
  return {};
}

Result<void> check_work(const RunSpec& spec) {
  if (spec.kind == RunKind::interactive) return check_interactive(spec);
  LATHE_TRY_VOID(check_command(spec.command));
  if (!spec.command.script.empty() && !spec.snapshot)
    return base::fail(Error(Code::invalid, "a script is given without a snapshot")
                          .field("snapshot")
                          .hint("upload the source folder first and name its tree, or use command"));
  LATHE_TRY_VOID(check_compute_name(spec.compute));
  return check_range("node_count", spec.node_count, 1, kMaxNodes);
}

}  // namespace

Result<void> validate_spec(const RunSpec& spec) {
  LATHE_TRY_VOID(check_experiment_name(spec.experiment));
  if (spec.display_name.size() > kMaxDisplayNameBytes || !is_clean_text(spec.display_name))
    return refuse("display_name", spec.display_name, "is too long or not plain text",
                  fmt::format("use at most {} bytes of text on one line", kMaxDisplayNameBytes));
  LATHE_TRY_VOID(check_work(spec));
  LATHE_TRY_VOID(check_environment(spec.environment));
  LATHE_TRY_VOID(check_run_data(spec.inputs, spec.outputs));
  if (!spec.parent.value.empty()) LATHE_TRY_VOID(check_name({"parent", 256, "_.-", "_"}, spec.parent.value));
  LATHE_TRY_VOID(check_label("run_type", spec.run_type));
  LATHE_TRY_VOID(check_range("priority", spec.priority, -kMaxPriority, kMaxPriority));
  LATHE_TRY_VOID(check_range("max_run_duration_seconds", spec.max_run_duration_seconds, 1, kMaxRunSeconds));
  LATHE_TRY_VOID(check_range("grace_seconds", spec.grace_seconds, 0, kMaxGraceSeconds));
  LATHE_TRY_VOID(check_range("retries.infrastructure", spec.retries.infrastructure, 0, kMaxRetries));
  LATHE_TRY_VOID(check_range("retries.user", spec.retries.user, 0, kMaxRetries));
  LATHE_TRY_VOID(check_tags(spec.tags));
  return check_properties(spec.properties);
}

}  // namespace lathe::model
