// The database as the simulation sees it: rows, and a batch of writes that a crash loses. What the server decides is
// based on rows and batch together; what it tells others waits for the commit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/run_moves.h"

namespace lathe::sim {

using RunNumber = std::int64_t;
using AttemptKey = std::pair<RunNumber, int>;

struct Row {
  model::RunRecord run;
  std::optional<model::AttemptRecord> attempt;  // the current one
  std::map<int, model::ExitRecord> node_exits;  // of the current attempt, by rank
};

class Store {
 public:
  // Every committed row before and after, for the invariants.
  std::function<void(const Row* before, const Row& after, const std::vector<model::RunMove>& moves)> on_commit;

  const Row* find(RunNumber run) const;
  std::optional<RunNumber> find_id(const model::RunId& id) const;
  RunNumber next_number() { return ++last_number_; }
  // Guarded by the generation, as the SQL is: the change must have been made from the row as it stands.
  void write(RunNumber run, const model::Change& change);
  void write_node_exit(RunNumber run, int node, const model::ExitRecord& exit);
  void after_commit(std::function<void()> action) { actions_.push_back(std::move(action)); }

  bool dirty() const { return !pending_.empty() || !actions_.empty(); }
  // Makes the batch durable; what is to be done afterwards comes back.
  std::vector<std::function<void()>> commit();
  void lose_batch();

  const std::map<RunNumber, Row>& rows() const { return rows_; }
  // The committed row of an id, whatever the batch says.
  const Row* find_committed(const model::RunId& id) const;

 private:
  Row& edit(RunNumber run);

  struct Pending {
    Row row;
    std::vector<model::RunMove> moves;
  };
  std::map<RunNumber, Row> rows_;
  std::unordered_map<std::string, RunNumber> ids_;
  std::map<RunNumber, Pending> pending_;
  std::vector<std::function<void()>> actions_;
  RunNumber last_number_ = 0;
};

}  // namespace lathe::sim
