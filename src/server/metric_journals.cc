#include "server/metric_journals.h"

#include <algorithm>

#include "db/events.h"
#include "db/runs.h"

namespace lathe::server {

using db::metrics::Source;
using model::RunRecord;
using rt::Task;

namespace {

constexpr base::Duration kTellPeriod = std::chrono::seconds(1);
constexpr std::size_t kMostTold = 10'000;
constexpr std::size_t kSmallPiece = 2048;
constexpr std::string_view kSkippedNote = "metrics: ", kGapNote = "metrics were lost where they could not be written: ";

void tell(db::Connection& connection, const RunRecord& run, base::UtcTime now) {
  db::events::replace_change(connection, run, "metrics", "new metrics", now);
}

// One note of a kind says that something is wrong; a script that writes nonsense all day long does not fill the
// database with it. `kind` is how the note begins.
bool add_note(db::Connection& connection, RunRecord& run, std::string_view kind, const std::string& text) {
  auto is_same = [&](const std::string& note) { return note.starts_with(kind); };
  if (std::ranges::any_of(run.notes, is_same)) return false;
  auto after = run;
  after.notes.push_back(std::string(kind) + text);
  ++after.generation;
  db::runs::store(connection, run, after);
  run = std::move(after);
  return true;
}

bool add_notes(db::Connection& connection, RunRecord& run, const std::string& source, const MetricBatch& batch) {
  bool added = false;
  if (batch.skipped > 0)
    added = add_note(connection, run, kSkippedNote,
                     fmt::format("a line of the journal {} was passed over; {}", source, batch.problem));
  if (batch.gap)
    added |= add_note(connection, run, kGapNote,
                      fmt::format("{} of the journal {} ({}); the metric {} counts all of them", batch.gap->records,
                                  source, batch.gap->error, wire::kGapName));
  return added;
}

// False when the journal has grown since it was looked at.
bool store_batch(db::Connection& connection, const RunRecord& run, const std::string& name, const Source& before,
                 const MetricBatch& batch) {
  if (db::metrics::find_source(connection, run.sequence, name).offset != before.offset) return false;
  for (const auto& block : batch.blocks) db::metrics::append(connection, run.sequence, block);
  db::metrics::store_source(connection, run.sequence, name,
                            {before.offset + batch.bytes, before.lines + batch.lines, before.skipped + batch.skipped});
  return true;
}

}  // namespace

bool MetricJournals::may_tell(const RunRecord& run) {
  auto now = core_.clock.steady();
  if (told_.size() > kMostTold)
    std::erase_if(told_,
                  [&](const auto& entry) { return !entry.second.pending && now - entry.second.at > kTellPeriod; });
  auto [entry, is_new] = told_.try_emplace(run.sequence, Told{now});
  if (is_new) return true;
  auto& told = entry->second;
  if (told.pending) return false;
  if (now - told.at >= kTellPeriod) {
    told.at = now;
    return true;
  }
  told.pending = true;
  core_.scope.spawn("tell of metrics", tell_later(run.id, run.sequence, kTellPeriod - (now - told.at)));
  return false;
}

Task<void> MetricJournals::tell_later(model::RunId id, std::int64_t sequence, base::Duration wait) {
  co_await core_.home.sleep(wait, core_.scope.token());
  told_[sequence] = {core_.clock.steady()};
  auto now = core_.clock.utc();
  co_await core_.database.write([&](db::Connection& connection) {
    if (auto run = db::runs::find(connection, id); run && run->sequence == sequence) tell(connection, *run, now);
  });
  core_.events.notify(id.value);
}

Task<MetricJournals::Stand> MetricJournals::append(LoadRun load, JournalPiece piece) {
  for (;;) {
    RunRecord run;
    auto before = co_await core_.database.read([&](db::Connection& connection) {
      run = load(connection);
      return db::metrics::find_source(connection, run.sequence, piece.source);
    });
    if (piece.offset > before.offset) co_return Stand{before.offset, true};
    auto known = static_cast<std::size_t>(before.offset - piece.offset);
    if (known >= piece.bytes.size()) co_return Stand{before.offset};
    core_.reserve.require_room();
    auto make_batch = [&] {
      auto old = std::string_view(piece.bytes).substr(0, known), fresh = std::string_view(piece.bytes).substr(known);
      auto first = piece.malformed == Malformed::skip ? before.lines : std::ranges::count(old, '\n');
      return make_metric_batch(fresh, piece.malformed, first + 1);
    };
    // A few records are checked faster than another thread is woken.
    auto batch = piece.bytes.size() <= kSmallPiece ? make_batch() : co_await core_.files.run(core_.home, make_batch);
    if (batch.bytes == 0) co_return Stand{before.offset};
    Stand stand{before.offset + batch.bytes};
    const bool telling = may_tell(run);
    auto now = core_.clock.utc();
    bool stored = co_await core_.database.write([&](db::Connection& connection) {
      run = load(connection);
      if (!store_batch(connection, run, piece.source, before, batch)) return false;
      if (add_notes(connection, run, piece.source, batch)) stand.noted = run;
      if (telling) tell(connection, run, now);
      return true;
    });
    if (!stored) continue;  // the same journal came by two ways at once
    core_.metrics.add("lathe_metric_records_total", static_cast<std::uint64_t>(batch.lines - batch.skipped));
    if (telling || stand.noted) core_.events.notify(run.id.value);
    co_return stand;
  }
}

}  // namespace lathe::server
