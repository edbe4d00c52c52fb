"""The planted faults. Each names a function, a text in its body and what takes its place, never a line: code moves. `test` is
what must catch it: a unit-test program and a filter of GoogleTest, or a file of tests/e2e and an expression of pytest -k.

When a function is gone or its text has changed, run.py says so: look for where the promise is kept now, and plant it there. A
fault must build without warnings: what it no longer uses is still named."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    promise: str  # of docs/dev/promises.md
    function: str  # as it is written at its definition, with its class: "Committer::sync_bytes"
    find: str
    replace: str
    test: tuple  # ("cas_test", "PowerCut.*") or ("e2e/test_x.py", "words of -k")
    folder: str = "src"  # where to look for the function, when its name alone is not enough


MUTANTS = [
    # --- what was acknowledged is on disk
    Mutant("database-without-sync", "A1", "Connection::Connection", "synchronous=FULL", "synchronous=OFF", ("e2e/test_power_cut.py", "power_cut"), "src/db"),
    Mutant("answer-before-commit", "A1", "Writer::try_batch", 'connection_->prepare("COMMIT").run();', 'for (Operation& early : batch) if (!early.error) std::exchange(early.done, [](std::exception_ptr) {})(nullptr);\n    connection_->prepare("COMMIT").run();', ("db_test", "Faults.*:Kill.*")),
    Mutant("blob-bytes-not-synced", "A4", "Committer::sync_bytes", "synced = files_.sync_file(blobs[i]->path);", "synced = {};", ("cas_test", "PowerCut.*")),
    Mutant("blob-names-not-synced", "A4", "Committer::sync_names", "for (const auto& folder : folders) LATHE_TRY_VOID(files_.sync_directory(folder));", "", ("cas_test", "PowerCut.*")),
    Mutant("many-blobs-not-synced", "A4", "Committer::sync_bytes", "synced = files_.sync_everything(layout_.root());", "synced = {};", ("cas_test", "PowerCut.*")),
    Mutant("blob-visible-before-its-name-is-synced", "A4", "Committer::place", "placing_.insert(blob->info.digest);", "(void)blob;", ("cas_test", "PowerCut.*")),
    Mutant("store-opened-without-sync", "A4", "DiskStore::prepare_folders", "return files_.sync_everything(layout_.root());", "return {};", ("cas_test", "PowerCut.*")),
    Mutant("exit-record-not-synced", "B2", "Spool::write_exit", "LATHE_TRY_VOID(files_->sync_file(path));", "", ("runner_test", "FaultTest.ExitRecord*")),
    Mutant("cut-exit-record-believed", "B2", "Spool::read_exit", "base::sha256(lines[0]).hex() != lines[1]", "false", ("runner_test", "*TornSpool*:FaultTest.ExitRecord*")),
    # --- nothing is removed that somebody names
    Mutant("lease-not-renewed", "A6", "DiskStore::find_and_renew", "> kRenewAfterSeconds", "> 1'000'000 * kRenewAfterSeconds", ("cas_test", "DiskStoreTest.FindRenews*")),
    Mutant("collection-ignores-leases", "A6", "DiskStore::remove_if_unleased", "if (FileIdentity::of(st).modified_ns / 1000 >= expired_before.micros) return false;", "if (expired_before.micros < 0) return false;", ("cas_test", "GcTest.*")),
    Mutant("collection-forgets-files-of-trees", "A6", "mark", "++report.references[entry.digest];", "(void)entry;", ("cas_test", "GcTest.*"), "src/cas"),
    Mutant("collection-during-a-backup", "A10", "GcHold::acquire", "LOCK_SH", "LOCK_UN", ("cas_test", "GcTest.ABackup*")),
    # --- damage is seen
    Mutant("damaged-blob-served", "A9", "DiskStore::verify_open", "if (found == digest) return {};", "if (found == digest || found != digest) return {};", ("cas_test", "DiskStoreTest.ADamaged*")),
    Mutant("audit-not-chained", "S7", "link", "hash.update(previous.bytes.data(), previous.bytes.size());", "hash.update(previous.bytes.data(), 0);", ("db_test", "Audit.*"), "src/db"),
    # --- one run, one end
    Mutant("stale-attempt-not-fenced", "B3", "is_live", "attempt.number == run.attempt && ", "", ("model_test", "RunMoves.*")),
    Mutant("stale-write-accepted", "B3", "store", " AND generation = ? AND state = ?", " AND generation >= 0 * ? AND state IS NOT ?", ("db_test", "Runs.RefuseAChange*"), "src/db"),
    Mutant("same-id-other-content", "A1", "is_same_submit", "&& row.digest(1) == base::sha256(columns::encode_spec(spec))", "&& !columns::encode_spec(spec).empty()", ("db_test", "Runs.KnowARepeated*")),
    Mutant("end-before-its-log", "A3", "RunnerDesk::require_whole_logs", "if (here < bytes)", "if (false && here < bytes)", ("e2e/test_runner_protocol.py", "before_its_whole_log")),
    Mutant("artifact-without-its-blob", "A4", "require_blobs", "if (!size || *size != static_cast<std::uint64_t>(file.size))", "if (!size && file.size < 0)", ("e2e/test_runner_protocol.py", "need_their_blobs")),
    Mutant("metric-lines-twice", "A2", "store_batch", "before.offset + batch.bytes", "before.offset", ("e2e/test_metrics.py", "every_line_arrives_once")),
    Mutant("version-given-twice", "A5", "next", "DO UPDATE SET last = last + 1", "DO UPDATE SET last = last", ("db_test", "Models.*:Datasets.*"), "src/db"),
    # --- nothing lives on, nothing is forgotten
    Mutant("daemons-left-alone", "B6", "Guard::end_leftovers", "report_.unkillable = kill_own_descendants(kKillLimit, [this] { signal_all(SIGKILL); });", "(void)kKillLimit;", ("runner_test", "TaskTest.EndsADaemon*"), "src/sys"),
    Mutant("no-time-limit", "B10", "Supervisor::prepare_timers", "limit_->arm(", "if (false) limit_->arm(", ("runner_test", "TaskTest.StopsAtTheTimeLimit*")),
    Mutant("cancel-without-kill", "B7", "Supervisor::request_stop", "grace_->arm(", "if (false) grace_->arm(", ("runner_test", "TaskTest.CancelsAScript*")),
    Mutant("no-adopter-after-a-cancel", "B8", "NodeCare::start_next", "if (adopt) co_return co_await core_.provider.adopt(task, runner_url_);", "if (adopt && live->stop != EndReason::none) co_return std::string();\n    if (adopt) co_return co_await core_.provider.adopt(task, runner_url_);", ("e2e/test_runner_kill_points.py", "last_sends and cancel and root")),
    Mutant("shortage-counts-as-a-start", "B5", "NodeCare::start_next", "if (!is_shortage(*trouble)) co_return std::string();", "if (!is_shortage(*trouble) || starts > 0) co_return std::string();", ("e2e/test_exhaustion.py", "waits_for_processes")),
    Mutant("unclaimed-runner-not-started-again", "B5", "NodeCare::bring_to_end", "found.trace == Trace::dead && !live->is_claimed(node) && !found.has_order", "false", ("e2e/test_runner_kill_points.py", "before_its_claim and root")),
    Mutant("claim-answered-before-it-is-stored", "B5", "RunnerDesk::claim", "co_await store_claim(live, node);", 'core_.scope.spawn("store a claim", store_claim(live, node));', ("e2e/test_recovery.py", "claim_was_not_on_disk")),
    Mutant("late-duplicate-makes-a-run", "A1", "submit_run", "if (db::deleted_runs::contains(connection, submission.id))", "if (false)", ("e2e/test_repeated_requests.py", "have_one_effect")),
    Mutant("log-not-resumed", "A3", "LogShipper::resume_at", "offset_ = stand.offset;", "offset_ = 0;", ("runner_test", "FaultTest.*Log*:FaultTest.Killed*:FaultTest.ServerThatLost*:*LostReply*")),
    Mutant("second-server-on-the-folder", "A9", "StateDir::open", "if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {", "if (false) {", ("e2e/test_state_folder.py", "second_server"), "src/server"),
    Mutant("newer-database-opened", "C3", "check_versions", "if (version > known) {", "if (false) {", ("db_test", "Migrations.RefuseANewer*")),
    Mutant("migration-outside-its-transaction", "C3", "migrate", "transaction(connection, [&](Connection& open) {", "auto bare = [](Connection& given, auto work) { work(given); };\n    bare(connection, [&](Connection& open) {", ("db_test", "Migrations.LeaveTheOldVersion*"), "src/db"),
    # --- nobody in
    Mutant("any-host", "S6", "HostGate::check", "if (any_host) return;", "return;", ("net_test", "Abuse.ForeignHosts*")),
    Mutant("everybody-writes", "S1", "is_allowed", "return at_least(Role::contributor);", "return at_least(Role::viewer);", ("net_test", "Permission.*"), "src/net"),
    Mutant("runs-of-others", "S2", "is_allowed", 'parameter("run") == principal.run_id &&', "", ("net_test", "Permission.*"), "src/net"),
    Mutant("revoked-token-gets-in", "S1", "Authority::find_user", "row && !row->revoked", "row", ("e2e/test_credentials.py", "revoked")),
    Mutant("paths-that-climb", "S3", "check_artifact_path", 'part == "." || part == ".."', 'part == "."', ("model_test", "ArtifactPaths.*")),
    Mutant("links-that-leave", "S3", "open_beneath", "RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS", "0", ("cas_test", "TreeWriter.*:SnapshotTest.ASwapped*")),
]
