// The Pythons of this node: on PATH, of pyenv, of uv. choose_python() gives the one for a spec: the exact minor
// version, else one that `uv python install` fetches, else one that the substitution table allows.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "envs/lock.h"
#include "envs/settings.h"
#include "envs/substitutions.h"
#include "envs/uv.h"

namespace lathe::envs {

struct Interpreter {
  std::string minor;  // "3.6"
  std::filesystem::path path;
};

// By the names of the files; nothing is executed, except in an image. The first of each version is the one to use.
std::vector<Interpreter> find_interpreters(const Settings& settings);

// The interpreter of this minor version that answers when it is asked; nothing when there is none.
std::optional<Interpreter> find_python(const Settings& settings, std::string_view minor, std::stop_token stop);

struct PythonChoice {
  Interpreter interpreter;
  std::string asked;                         // minor version that the spec means; empty: any
  std::optional<Substitution> substitution;  // when it is another one
};

base::Result<PythonChoice> choose_python(const Settings& settings, const Substitutions& table, const Uv& uv,
                                         std::string_view asked, const LogSink& log, std::stop_token stop);

// The same on a node that realises a lock: exactly this minor version, fetched when it is not here.
base::Result<Interpreter> get_python(const Settings& settings, const Uv& uv, std::string_view minor, const LogSink& log,
                                     std::stop_token stop);

}  // namespace lathe::envs
