// MetricJournals: takes metric journals in, each line exactly once. A journal is named by its run and source; how much
// of it is here is stored in the same transaction as its lines, so that a repeated, overlapping or lost request changes
// nothing. Tells the event stream of a run's new metrics at most once a second. Home thread; lines are checked and
// packed on the pool.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "model/run.h"
#include "server/core.h"
#include "server/metric_batch.h"

namespace lathe::server {

// Loads the run that a journal belongs to, in a database closure; throws when the caller may not write to it (any
// more).
using LoadRun = std::function<model::RunRecord(db::Connection&)>;

struct JournalPiece {
  std::string source;
  std::int64_t offset = 0;  // of the first byte in the journal
  std::string bytes;
  Malformed malformed = Malformed::refuse;
};

class MetricJournals {
 public:
  explicit MetricJournals(Core& core) : core_(core) {}

  struct Stand {
    std::int64_t offset = 0;                     // the first byte that is not here
    bool hole = false;                           // the piece begins behind it, and nothing was taken
    std::optional<model::RunRecord> noted = {};  // the run, when a note was added to it
  };
  rt::Task<Stand> append(LoadRun load, JournalPiece piece);

 private:
  struct Told {
    base::SteadyTime at;
    bool pending = false;  // an event is on its way
  };
  // Whether the event may be written now; else it is seen to later.
  bool may_tell(const model::RunRecord& run);
  rt::Task<void> tell_later(model::RunId run, std::int64_t sequence, base::Duration wait);

  Core& core_;
  std::unordered_map<std::int64_t, Told> told_;  // by run sequence
};

}  // namespace lathe::server
