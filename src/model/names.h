// Checks of everything a client may name or count. Each refusal says which field, which value, and what is allowed.
// Pure functions; a value that passed is safe to store, to show and to put into a URL. None of these strings is ever
// joined to a path on disk except artifact paths, and those only below a run's own folder.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "model/run.h"

namespace lathe::model {

// Limits of one submit. They bound memory and the argument vector that execve(2) accepts.
inline constexpr std::size_t kMaxTags = 50;
inline constexpr std::size_t kMaxProperties = 100;
inline constexpr std::size_t kMaxTagKeyBytes = 255;
inline constexpr std::size_t kMaxTagValueBytes = 1000;
inline constexpr std::size_t kMaxDisplayNameBytes = 255;
inline constexpr std::size_t kMaxPathBytes = 1024;
inline constexpr std::size_t kMaxDescriptionBytes = 10'000;
inline constexpr std::size_t kMaxArguments = 4096;
inline constexpr std::size_t kMaxArgumentBytes = 128 * 1024 - 1;  // MAX_ARG_STRLEN of Linux, with its NUL
inline constexpr std::size_t kMaxCommandBytes = 1024 * 1024;
inline constexpr std::size_t kMaxVariables = 1000;
inline constexpr int kMaxNodes = 10'000;
inline constexpr int kMaxRetries = 100;
inline constexpr int kMaxPriority = 1'000'000;
inline constexpr std::int64_t kMaxRunSeconds = 10LL * 365 * 86'400;
inline constexpr std::int64_t kMaxGraceSeconds = 3'600;
inline constexpr std::int64_t kMaxIdleSeconds = 30LL * 86'400;

base::Result<void> check_run_id(std::string_view id);
// Wider than Azure's 3 to 36 characters, so that every experiment name of an existing script is accepted.
base::Result<void> check_experiment_name(std::string_view name);
base::Result<void> check_workspace_name(std::string_view name);
base::Result<void> check_compute_name(std::string_view name);
base::Result<void> check_datastore_name(std::string_view name);
// Of datasets, models and environments; `field` says which.
base::Result<void> check_registry_name(std::string_view field, std::string_view name);
// Text that people write: UTF-8; line breaks and tabs, but no other control character.
base::Result<void> check_description(std::string_view text);
base::Result<void> check_variable_name(std::string_view name);
// One tag or property; `field` is "tags" or "properties".
base::Result<void> check_tag(std::string_view field, std::string_view key, std::string_view value);
base::Result<void> check_tags(const Tags& tags);
// Tags and properties of things that are registered: text on both sides.
base::Result<void> check_pairs(std::string_view field, const std::map<std::string, std::string>& pairs,
                               std::size_t most);
base::Result<void> check_properties(const std::map<std::string, std::string>& properties);
// A client's own word: a run type, an environment's name. At most 255 bytes of text on one line.
base::Result<void> check_label(std::string_view field, std::string_view label);
base::Result<void> check_secret_name(std::string_view name);
// The journal that metric records come from; usually a UUID.
base::Result<void> check_metric_source(std::string_view source);
// Relative, '/'-separated, no empty, "." or ".." part, no control character, valid UTF-8.
base::Result<void> check_artifact_path(std::string_view field, std::string_view path);
base::Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high);

// The whole of a submit, except what depends on this site (the compute target, the snapshot's presence, the
// interpreter of a script that names none).
base::Result<void> validate_spec(const RunSpec& spec);

}  // namespace lathe::model
