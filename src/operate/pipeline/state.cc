#include "operate/pipeline/state.h"

#include <sqlite3.h>

#include "base/core/process_id.h"
#include "base/store/private_file.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

constexpr int kLockedMs = 30'000;
constexpr int64_t kStateVersion = 1;
constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS runs(id TEXT PRIMARY KEY, pipeline TEXT, config_hash TEXT, root "
    "TEXT,"
    " folder TEXT, status TEXT, config TEXT, begun_s REAL, ended_s REAL, message TEXT, pid INTEGER,"
    " pid_start TEXT);"
    "CREATE TABLE IF NOT EXISTS steps(run TEXT, name TEXT, status TEXT, key TEXT, hash TEXT,"
    " result TEXT, attempts INTEGER, begun_s REAL, ended_s REAL, reused_from TEXT, message TEXT,"
    " pid INTEGER, pid_start TEXT, token TEXT, PRIMARY KEY(run, name));"
    "CREATE INDEX IF NOT EXISTS steps_by_key ON steps(key);";
constexpr const char* kRunColumns =
    "id, pipeline, config_hash, root, folder, status, config, begun_s, ended_s, message, pid, "
    "pid_start";
constexpr const char* kStepColumns =
    "run, name, status, key, hash, result, attempts, begun_s, ended_s, reused_from, message, pid, "
    "pid_start, token";

std::string json_or_null(const OrderedJson& j) { return dump_json(j, {.ascii = true}); }
OrderedJson json_from(const std::string& text) {
  const auto j = parse_ordered_json(text, "state");
  return j.ok() ? *j : OrderedJson();
}

}  // namespace

std::string status_of_run(const PipelineRunRow& run) {
  const bool gone = run.pid == 0 || start_of_process(run.pid) != run.pid_start;
  return run.status == "running" && gone ? "lost" : run.status;
}

std::string status_of_step(const PipelineRunRow& run, const StepRow& step) {
  return step.status == "running" && status_of_run(run) == "lost" ? "lost" : step.status;
}

struct PipelineState::Query {
  sqlite3_stmt* statement = nullptr;
  int bound = 0;
  int prepared = SQLITE_OK;
  Query(sqlite3* db, const std::string& sql) {
    prepared = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  }
  Query(const Query&) = delete;
  ~Query() { sqlite3_finalize(statement); }
  void bind(const std::string& text) {
    sqlite3_bind_text(statement, ++bound, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void bind(int64_t value) { sqlite3_bind_int64(statement, ++bound, value); }
  void bind(double value) { sqlite3_bind_double(statement, ++bound, value); }
  int step() { return prepared == SQLITE_OK ? sqlite3_step(statement) : prepared; }
  std::string text(int column) const {
    const unsigned char* t = sqlite3_column_text(statement, column);
    return t == nullptr ? "" : reinterpret_cast<const char*>(t);
  }
  int64_t whole(int column) const { return sqlite3_column_int64(statement, column); }
  double real(int column) const { return sqlite3_column_double(statement, column); }
};

Error PipelineState::failed(const std::string& doing) const {
  const int code = db_ == nullptr ? SQLITE_CANTOPEN : sqlite3_errcode(db_) & 0xff;
  Error e(err::kPipelineState, fmt::format("cannot {} the pipeline's state: {}", doing,
                                           db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_)));
  const char* remedy = "check that this account may write the file and its folder";
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    remedy = "another program has kept it locked for 30 s: end that program, then run again";
  if (code == SQLITE_FULL || code == SQLITE_IOERR)
    remedy = "make room on the disk and type the command again: it continues where it was";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    remedy = "the file is damaged: move it away; steps are then run again";
  return std::move(e).at(path_).todo(remedy);
}

Status PipelineState::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failed("write");
  return Ok{};
}

Result<int64_t> PipelineState::connect(int flags) {
  if (sqlite3_open_v2(path_.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK)
    return failed("open");
  sqlite3_busy_timeout(db_, kLockedMs);
  Query version(db_, "PRAGMA user_version");
  if (version.step() != SQLITE_ROW) return failed("read");
  return version.whole(0);
}

Result<std::unique_ptr<PipelineState>> PipelineState::open(const std::string& path) {
  std::unique_ptr<PipelineState> s(new PipelineState(path));
  const int64_t version = HONE_TRY(s->connect(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  close_to_others(path);
  if (version > kStateVersion)
    return Error(err::kPipelineState, "a newer hone wrote the pipeline's state")
        .at(path)
        .todo("use that version, or another pipeline_root");
  HONE_TRY(s->execute("PRAGMA synchronous=FULL"));
  if (version == kStateVersion) return s;
  HONE_TRY(s->execute(
      fmt::format("BEGIN IMMEDIATE; {} PRAGMA user_version={}; COMMIT", kTables, kStateVersion)));
  return s;
}

Result<std::unique_ptr<PipelineState>> PipelineState::read(const std::string& path) {
  std::unique_ptr<PipelineState> s(new PipelineState(path));
  if (HONE_TRY(s->connect(SQLITE_OPEN_READONLY)) == kStateVersion) return s;
  return Error(err::kPipelineState, "the file is not the state of pipelines of this hone").at(path);
}

PipelineState::~PipelineState() { sqlite3_close(db_); }

Status PipelineState::put(const PipelineRunRow& r) {
  Query q(db_, fmt::format("INSERT OR REPLACE INTO runs({}) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
                           kRunColumns));
  for (const std::string& t :
       {r.id, r.pipeline, r.config_hash, r.root, r.folder, r.status, json_or_null(r.config)})
    q.bind(t);
  q.bind(r.begun_s);
  q.bind(r.ended_s);
  q.bind(r.message);
  q.bind(r.pid);
  q.bind(r.pid_start);
  if (q.step() != SQLITE_DONE) return failed("write");
  return Ok{};
}

Status PipelineState::put(const StepRow& r) {
  Query q(db_, fmt::format("INSERT OR REPLACE INTO steps({}) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                           kStepColumns));
  for (const std::string& t : {r.run, r.name, r.status, r.key, r.hash, json_or_null(r.result)})
    q.bind(t);
  q.bind(r.attempts);
  q.bind(r.begun_s);
  q.bind(r.ended_s);
  q.bind(r.reused_from);
  q.bind(r.message);
  q.bind(r.pid);
  q.bind(r.pid_start);
  q.bind(r.token);
  if (q.step() != SQLITE_DONE) return failed("write");
  return Ok{};
}

Result<std::vector<PipelineRunRow>> PipelineState::run_rows(const std::string& where,
                                                            const std::string& value) {
  Query q(db_, fmt::format("SELECT {} FROM runs WHERE {} ORDER BY begun_s DESC, rowid DESC",
                           kRunColumns, where));
  q.bind(value);
  std::vector<PipelineRunRow> rows;
  int code;
  while ((code = q.step()) == SQLITE_ROW) {
    PipelineRunRow r;
    std::string* texts[] = {&r.id, &r.pipeline, &r.config_hash, &r.root, &r.folder, &r.status};
    for (int c = 0; c < 6; ++c) *texts[c] = q.text(c);
    r.config = json_from(q.text(6));
    r.begun_s = q.real(7);
    r.ended_s = q.real(8);
    r.message = q.text(9);
    r.pid = q.whole(10);
    r.pid_start = q.text(11);
    rows.push_back(std::move(r));
  }
  if (code != SQLITE_DONE) return failed("read");
  return rows;
}

Result<std::vector<PipelineRunRow>> PipelineState::runs() { return run_rows("? = ''", ""); }

Result<std::optional<PipelineRunRow>> PipelineState::run(const std::string& id) {
  std::vector<PipelineRunRow> rows = HONE_TRY(run_rows("id = ?", id));
  if (rows.empty()) return std::optional<PipelineRunRow>();
  return std::optional(std::move(rows[0]));
}

Result<std::vector<StepRow>> PipelineState::step_rows(const std::string& where,
                                                      const std::string& value) {
  Query q(db_,
          fmt::format("SELECT {} FROM steps WHERE {} ORDER BY rowid DESC", kStepColumns, where));
  q.bind(value);
  std::vector<StepRow> rows;
  int code;
  while ((code = q.step()) == SQLITE_ROW) {
    StepRow r;
    r.run = q.text(0);
    r.name = q.text(1);
    r.status = q.text(2);
    r.key = q.text(3);
    r.hash = q.text(4);
    r.result = json_from(q.text(5));
    r.attempts = q.whole(6);
    r.begun_s = q.real(7);
    r.ended_s = q.real(8);
    r.reused_from = q.text(9);
    r.message = q.text(10);
    r.pid = q.whole(11);
    r.pid_start = q.text(12);
    r.token = q.text(13);
    rows.push_back(std::move(r));
  }
  if (code != SQLITE_DONE) return failed("read");
  return rows;
}

Result<std::vector<StepRow>> PipelineState::steps(const std::string& run) {
  return step_rows("run = ?", run);
}

Result<std::vector<StepRow>> PipelineState::done_with_key(const std::string& key) {
  return step_rows("status = 'done' AND key = ?", key);
}

}  // namespace hone
