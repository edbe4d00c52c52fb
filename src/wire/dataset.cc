#include "wire/dataset.h"

#include <array>
#include <boost/json.hpp>

#include "base/strings.h"
#include "model/names.h"
#include "wire/json.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;
using base::Code;
using base::Error;
using base::Result;
using model::FileFilter;
using model::FileStep;

constexpr std::size_t kMaxSources = 10'000, kMaxSteps = 1'000;
constexpr int kMaxFilterDepth = 20;

std::unexpected<Error> refuse(std::string message, std::string field = "definition.steps") {
  return base::fail(
      Error(Code::invalid, std::move(message)).field(std::move(field)).hint("see docs/formats/dataset.md"));
}

struct OpName {
  std::string_view name;
  FileFilter::Op op;
};
constexpr std::array kCombining{OpName{"and", FileFilter::Op::all}, OpName{"or", FileFilter::Op::any},
                                OpName{"not", FileFilter::Op::none}};
constexpr std::array kComparing{OpName{"==", FileFilter::Op::equal},
                                OpName{"!=", FileFilter::Op::unequal},
                                OpName{"<", FileFilter::Op::less},
                                OpName{"<=", FileFilter::Op::at_most},
                                OpName{">", FileFilter::Op::more},
                                OpName{">=", FileFilter::Op::at_least},
                                OpName{"startswith", FileFilter::Op::begins},
                                OpName{"endswith", FileFilter::Op::ends},
                                OpName{"contains", FileFilter::Op::contains}};

std::optional<FileFilter::Op> find_op(std::span<const OpName> names, std::string_view name) {
  for (const auto& entry : names)
    if (entry.name == name) return entry.op;
  return std::nullopt;
}

std::optional<FileFilter::Fact> find_fact(const json::value& value) {
  const auto* object = value.if_object();
  const auto* name = object && object->size() == 1 ? object->if_contains("file") : nullptr;
  if (!name || !name->is_string()) return std::nullopt;
  std::string_view word = name->get_string();
  if (word == "path") return FileFilter::Fact::path;
  if (word == "name") return FileFilter::Fact::name;
  if (word == "extension") return FileFilter::Fact::extension;
  if (word == "size") return FileFilter::Fact::size;
  if (word == "modified") return FileFilter::Fact::modified;
  return std::nullopt;
}

Result<FileFilter> parse_comparison(std::string_view name, FileFilter::Op op, const json::value& operands) {
  const auto* pair = operands.if_array();
  auto fact = pair && pair->size() == 2 ? find_fact((*pair)[0]) : std::nullopt;
  if (!fact)
    return refuse(fmt::format("'{}' compares {{\"file\": path|name|extension|size|modified}} with a value", name));
  FileFilter filter{.op = op, .fact = *fact};
  const json::value& value = (*pair)[1];
  bool is_number = *fact == FileFilter::Fact::size || *fact == FileFilter::Fact::modified;
  bool needs_text = op == FileFilter::Op::begins || op == FileFilter::Op::ends || op == FileFilter::Op::contains;
  if (value.is_string() && !is_number)
    filter.value = std::string(value.get_string());
  else if (value.is_int64() && is_number && !needs_text)
    filter.value = value.get_int64();
  else if (value.is_double() && is_number && !needs_text)
    filter.value = value.get_double();
  else
    return refuse(fmt::format("'{}' has a value that the fact cannot be compared with", name));
  return filter;
}

Result<FileFilter> parse_filter(const json::value& value, int depth) {
  const auto* object = value.if_object();
  if (!object || object->size() != 1 || depth > kMaxFilterDepth)
    return refuse("a filter is an object with one operator, at most 20 deep");
  std::string_view name = object->begin()->key();
  const json::value& operands = object->begin()->value();
  if (auto op = find_op(kComparing, name)) return parse_comparison(name, *op, operands);
  auto op = find_op(kCombining, name);
  if (!op) return refuse(fmt::format("unknown operator '{}' in a filter", base::printable(name, 40)));
  FileFilter filter{.op = *op};
  if (name == "not") {
    LATHE_TRY(auto part, parse_filter(operands, depth + 1));
    filter.parts.push_back(std::move(part));
    return filter;
  }
  if (!operands.is_array()) return refuse(fmt::format("'{}' needs a list of filters", name));
  for (const auto& operand : operands.get_array()) {
    LATHE_TRY(auto part, parse_filter(operand, depth + 1));
    filter.parts.push_back(std::move(part));
  }
  return filter;
}

Result<FileStep> parse_share(FileStep step, const json::value& value) {
  Fields fields(value);
  const bool is_split = step.kind == FileStep::Kind::split;
  std::string_view key = is_split ? "percentage" : "probability";
  fields.need(key).number(key, step.probability).integer("seed", step.seed);
  if (is_split) fields.need("part").integer("part", step.part);
  LATHE_TRY_VOID(fields.finish());
  if (!(step.probability >= 0 && step.probability <= 1)) return refuse(fmt::format("{} must be from 0 to 1", key));
  if (step.part != 0 && step.part != 1) return refuse("part must be 0 or 1");
  return step;
}

// Nothing for a step that does not choose files.
Result<std::optional<FileStep>> parse_step(const json::value& value) {
  const auto* object = value.if_object();
  if (!object || object->size() != 1) return refuse("a step is an object with one key: what it does");
  std::string_view name = object->begin()->key();
  const json::value& argument = object->begin()->value();
  FileStep step;
  if (name == "take" || name == "skip") {
    step.kind = name == "take" ? FileStep::Kind::take : FileStep::Kind::skip;
    if (!argument.is_int64() || argument.get_int64() < 0) return refuse(fmt::format("{} needs a count", name));
    step.count = argument.get_int64();
    return step;
  }
  if (name == "sample" || name == "split") {
    step.kind = name == "sample" ? FileStep::Kind::sample : FileStep::Kind::split;
    LATHE_TRY(auto parsed, parse_share(step, argument));
    return parsed;
  }
  if (name != "filter") return std::nullopt;
  step.kind = FileStep::Kind::filter;
  LATHE_TRY(step.filter, parse_filter(argument, 0));
  return step;
}

Result<void> check_source(const model::DatasetSource& source) {
  const std::string field = "definition.sources";
  bool is_url = !source.url.empty(), is_stored = !source.datastore.empty();
  if (is_url == is_stored) return refuse("a source is either a url or a datastore with a path", field);
  if (is_url) return source.path.empty() ? Result<void>() : refuse("a url has no path besides it", field);
  LATHE_TRY_VOID(model::check_datastore_name(source.datastore));
  if (source.path.empty()) return {};
  return model::check_artifact_path(field, source.path);
}

// "./a//b/" is "a/b": what people write is taken as they mean it; ".." stays and is refused.
std::string tidy_path(std::string_view path) {
  std::string out;
  for (auto part : base::split(path, '/'))
    if (!part.empty() && part != ".") out += fmt::format("{}{}", out.empty() ? "" : "/", part);
  return out;
}

}  // namespace

Result<model::DatasetDefinition> parse_dataset(const json::value& value) {
  model::DatasetDefinition definition;
  Fields fields(value);
  fields.need("kind").need("sources").text("kind", definition.kind).ignore("steps").ignore("options");
  fields.objects("sources", [&](Fields& entry) {
    auto& source = definition.sources.emplace_back();
    entry.text("url", source.url).text("datastore", source.datastore).text("path", source.path);
    source.path = tidy_path(source.path);
  });
  LATHE_TRY_VOID(fields.finish());
  if (definition.kind != "file" && definition.kind != "tabular")
    return refuse("kind must be file or tabular", "definition.kind");
  if (definition.sources.empty() || definition.sources.size() > kMaxSources)
    return refuse("a dataset has 1 to 10000 sources", "definition.sources");
  for (const auto& source : definition.sources) LATHE_TRY_VOID(check_source(source));
  const auto* options = value.get_object().if_contains("options");
  if (options && !options->is_null() && !options->is_object())
    return refuse("options must be an object", "definition.options");
  const auto* steps = value.get_object().if_contains("steps");
  if (!steps || steps->is_null()) return definition;
  if (!steps->is_array() || steps->get_array().size() > kMaxSteps)
    return refuse("steps must be a list of at most 1000");
  for (const auto& entry : steps->get_array()) {
    if (definition.kind == "tabular" && entry.is_object()) continue;  // rows are chosen by the SDK
    LATHE_TRY(auto step, parse_step(entry));
    if (step) definition.steps.push_back(std::move(*step));
  }
  return definition;
}

}  // namespace lathe::wire
