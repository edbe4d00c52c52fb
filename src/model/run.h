// A run as plain values: what was asked for (RunSpec), how it stands (RunRecord), and its tries (AttemptRecord).
// No I/O, no clock, no JSON; wire/ gives these their JSON form, db/ their rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/run_data.h"
#include "model/run_state.h"

namespace lathe::model {

using RunId = base::StringId<struct RunTag>;

// A script (or command) is placed on nodes and run by a runner; an interactive run is driven and ended by its client,
// has no attempt and uses no compute.
enum class RunKind { script, interactive };
std::string_view kind_name(RunKind kind);
std::optional<RunKind> kind_from_name(std::string_view name);

// A tag may have no value.
using Tags = std::map<std::string, std::optional<std::string>>;

// How the user's process is started. Exactly one of `script` and `command` is set.
struct Command {
  std::string script;                  // relative to the snapshot, run by the interpreter
  std::vector<std::string> command;    // an argument vector of its own
  std::vector<std::string> arguments;  // $VAR and ${VAR} are expanded by the launcher
  bool operator==(const Command&) const = default;
};

// What the environment is: the user's own interpreter, or a definition that Lathe builds (envs/).
struct EnvironmentRef {
  std::string interpreter;  // absolute path of a Python, empty when `command` needs none
  std::map<std::string, std::string> variables;
  std::string name = {}, version = {};          // of a registered environment; kept and shown
  std::optional<base::Digest> definition = {};  // of what was submitted with the run; kept beside it
  bool operator==(const EnvironmentRef&) const = default;
};

struct RetryLimits {
  int infrastructure = 0;  // a lost node, a preemption
  int user = 0;            // the script itself failed
  bool operator==(const RetryLimits&) const = default;
};

struct RunSpec {
  std::string experiment;
  std::string display_name;
  Command command;
  EnvironmentRef environment;
  std::optional<base::Digest> snapshot;  // tree manifest of the source folder
  std::string compute = "local";
  int node_count = 1;
  int priority = 0;  // higher first; ties by submission order
  std::int64_t max_run_duration_seconds = 2'592'000;
  std::int64_t grace_seconds = 30;
  RetryLimits retries;
  Tags tags;
  std::map<std::string, std::string> properties;
  RunKind kind = RunKind::script;
  RunId parent;          // empty: none
  std::string run_type;  // a client's word for what this is, e.g. "azureml.scriptrun"
  RunInputs inputs;
  RunOutputs outputs;
  std::optional<base::Digest> definition;  // of the client's own description of the run, which is kept beside it
  bool operator==(const RunSpec&) const = default;
};

// The part of a machine that one node task got.
struct Slice {
  int node = 0;           // rank in the gang, 0 first
  std::string node_name;  // e.g. "cpu-cluster/3"
  std::int64_t millicores = 0;
  std::int64_t memory_bytes = 0;
  std::vector<std::string> gpus;  // device ids for CUDA_VISIBLE_DEVICES
  bool operator==(const Slice&) const = default;
};

// Resource use over an attempt, summed over its processes; peaks are of the sum.
struct Usage {
  double cpu_seconds = 0;
  std::int64_t peak_memory_bytes = 0;
  std::int64_t peak_gpu_memory_bytes = 0;
  double gpu_seconds = 0;
  bool operator==(const Usage&) const = default;
};

enum class EndReason {
  none,           // not ended
  exited,         // the process ended by itself; see exit_code
  signaled,       // the process was killed by a signal that was not ours
  out_of_memory,  // the kernel killed it at its memory limit
  timed_out,      // max_run_duration_seconds passed
  canceled,
  preempted,       // a dedicated run needed the node
  node_lost,       // the runner or its machine died
  start_failed,    // the process could not be started, e.g. the interpreter does not exist
  prepare_failed,  // snapshot or environment could not be delivered
};
std::string_view end_reason_name(EndReason reason);  // "out-of-memory"
std::optional<EndReason> end_reason_from_name(std::string_view name);

// What a runner reports when its task is over; the spool keeps it fsynced before it is sent.
struct ExitRecord {
  EndReason reason = EndReason::none;
  int exit_code = 0;
  int signal = 0;
  std::string message;  // one line for people, e.g. "killed at the memory limit of 2.0 GiB"
  Usage usage;
  base::UtcTime started, ended;
  int unkillable = 0;  // processes that hang in the kernel and outlive the task; its node is held until they are gone
};

struct AttemptRecord {
  int number = 0;  // 1, 2, …; the fence
  base::Digest token_hash;
  std::vector<Slice> slices;
  base::UtcTime placed;
  std::optional<base::UtcTime> claimed, ended;
  ExitRecord exit;
  bool stop_asked = false;  // cancel or preemption was asked of this attempt
  EndReason stop_reason = EndReason::none;
};

struct RunError {
  std::string code;  // "script-failed", "out-of-memory", "node-lost", …
  std::string message;
  std::string details = {};  // of an interactive run: what its client said about it
};

struct RunRecord {
  RunId id;
  std::int64_t sequence = 0;  // order of submission, given by the database
  std::string workspace;
  RunSpec spec;
  RunState state = RunState::not_started;
  std::int64_t generation = 0;  // +1 with every change
  int attempt = 0;              // number of the current attempt, 0 before the first placement
  int infrastructure_failures = 0, user_failures = 0;
  std::vector<std::string> notes;  // what the site changed, e.g. "size cut from 6 to 2 cores"
  std::optional<RunError> error;
  Usage usage;
  base::UtcTime created;
  std::optional<base::UtcTime> started, ended;
  bool archived = false;
  std::string submitted_by;
  RunId root;                       // the first of its ancestors; empty without a parent
  std::int64_t children_count = 0;  // as counted when the run was read
};

// One move of a run, as written to the event table.
struct RunMove {
  RunState from, to;
  std::string reason;  // for people and programs: "submitted", "environment is the user's", "exit code 1", …
  base::UtcTime at;
};

}  // namespace lathe::model
