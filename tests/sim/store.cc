#include "sim/store.h"

#include "sim/loop.h"

namespace lathe::sim {

const Row* Store::find(RunNumber run) const {
  if (auto found = pending_.find(run); found != pending_.end()) return &found->second.row;
  auto found = rows_.find(run);
  return found == rows_.end() ? nullptr : &found->second;
}

std::optional<RunNumber> Store::find_id(const model::RunId& id) const {
  if (auto found = ids_.find(id.value); found != ids_.end()) return found->second;
  for (const auto& [number, pending] : pending_)
    if (pending.row.run.id == id) return number;
  return std::nullopt;
}

const Row* Store::find_committed(const model::RunId& id) const {
  auto found = ids_.find(id.value);
  return found == ids_.end() ? nullptr : &rows_.at(found->second);
}

Row& Store::edit(RunNumber run) {
  auto [at, fresh] = pending_.try_emplace(run);
  if (fresh)
    if (auto committed = rows_.find(run); committed != rows_.end()) at->second.row = committed->second;
  return at->second.row;
}

void Store::write(RunNumber run, const model::Change& change) {
  if (!change.changed) return;
  Row& row = edit(run);
  if (change.run.generation != row.run.generation + 1)
    throw Violation(fmt::format("run {}: a stale change was written", run));
  if (change.run.attempt != row.run.attempt) row.node_exits.clear();
  row.run = change.run;
  row.run.sequence = run;
  if (change.attempt) row.attempt = change.attempt;
  auto& moves = pending_.at(run).moves;
  moves.insert(moves.end(), change.moves.begin(), change.moves.end());
}

void Store::write_node_exit(RunNumber run, int node, const model::ExitRecord& exit) {
  edit(run).node_exits.emplace(node, exit);
}

std::vector<std::function<void()>> Store::commit() {
  for (auto& [number, pending] : pending_) {
    auto before = rows_.find(number);
    on_commit(before == rows_.end() ? nullptr : &before->second, pending.row, pending.moves);
    ids_.emplace(pending.row.run.id.value, number);
    rows_[number] = std::move(pending.row);
  }
  pending_.clear();
  return std::exchange(actions_, {});
}

void Store::lose_batch() {
  pending_.clear();
  actions_.clear();
  last_number_ = rows_.empty() ? 0 : rows_.rbegin()->first;
}

}  // namespace lathe::sim
