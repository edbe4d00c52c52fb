// Resolver: asks uv which packages, exactly. Blocking; one instance serves one lock.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "envs/pylock.h"
#include "envs/settings.h"
#include "envs/uv.h"

namespace lathe::envs {

struct Question {
  std::vector<std::string> requirements, constraints;
  std::string python_version;            // for another version than the interpreter's; empty: its own
  std::string as_of;                     // RFC 3339; empty: today
  bool dependencies = true;              // false: only what is named
  std::vector<std::string> only_binary;  // packages that must have a wheel
  std::string resolution;                // "lowest", "highest"; empty: highest
};

class Resolver {
 public:
  Resolver(const Settings& settings, Uv uv, const PipOptions& options, std::filesystem::path python, LogSink log,
           std::stop_token stop);

  // `invalid` with uv's reason when there is no solution; `unavailable` when the index cannot be reached and the cache
  // does not hold what is needed. Not a word to the log unless `aloud`.
  base::Result<std::vector<PylockPackage>> ask(const Question& question, bool aloud = false);

 private:
  base::Error complaint(const Question& question, const Uv::Answer& answer, bool unreachable) const;

  const Settings& settings_;
  Uv uv_;
  PipOptions options_;
  std::filesystem::path python_;
  LogSink log_;
  std::stop_token stop_;
  bool unreachable_ = false;  // once it was: the cache only
};

// The reason out of uv's "error: … cause: …" lines.
std::string reason_of(std::string_view complaint);

}  // namespace lathe::envs
