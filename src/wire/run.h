// Runs in JSON: the body of a submit, the stored form of a spec, and the run as the API shows it.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "model/run.h"

namespace lathe::wire {

struct RunSubmit {
  model::RunId id;
  model::RunSpec spec;
  std::string definition = {};  // the client's own description, a JSON object; spec.definition is its digest
  // Of the environment that the run brings, in canonical form; spec.environment.definition is its digest.
  std::string environment_definition = {};
};

// The largest submit: arguments and variables of 1 MiB each, escaped, and a definition.
inline constexpr std::size_t kMaxDefinitionBytes = 1024 * 1024;
inline constexpr std::size_t kMaxSubmitBytes = 4 * 1024 * 1024 + kMaxDefinitionBytes;

// Strict: unknown fields, wrong types, wrong names and numbers are refused with their field. What comes back is valid.
base::Result<RunSubmit> parse_run_submit(std::string_view body);
std::string encode_run_submit(const RunSubmit& submit);

// The canonical form of a spec: every field, keys in alphabetical order, so that equal specs have equal bytes. A field
// added later is written only when it differs from its default, so that digests made before it stay true.
std::string encode_spec(const model::RunSpec& spec);
base::Result<model::RunSpec> decode_spec(std::string_view text);
// Same id, same digest: the same submit.
base::Digest spec_digest(const model::RunSpec& spec);

// Why a queued run waits, for people.
struct Waiting {
  std::string reason;
  std::string would_start_when;
};

// What the environment of a run became.
struct BuiltEnvironment {
  std::string name, version;
  std::optional<base::Digest> lock;
  std::optional<std::int64_t> build;
  std::string substitutions_json = "[]";
};

struct RunView {
  const model::RunRecord& run;
  std::span<const model::AttemptRecord> attempts;
  std::optional<Waiting> waiting;
  const model::ResolvedInputs* inputs = nullptr;  // what they turned out to be, where that is shown
  const BuiltEnvironment* environment = nullptr;  // of a run whose environment Lathe builds, where that is shown
};

boost::json::object run_json(const RunView& view);
// The same with the client's definition (JSON, or empty) as it was given.
std::string encode_run(const RunView& view, std::string_view definition);
boost::json::object attempt_json(const model::AttemptRecord& attempt);

// The log that `lathe run logs` shows unless told otherwise.
std::string main_log_name(int node_count, int node = 0);

}  // namespace lathe::wire
