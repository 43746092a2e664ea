#include "operate/pipeline/run_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/private_file.h"
#include "operate/pipeline/artifacts.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/step_logs.h"

namespace hone {
namespace {

constexpr const char* kRedacted = "***";  // of redact.h
constexpr double kPatience = 30;          // of what a killed process left, in seconds
constexpr int64_t kMostResultBytes = 16 << 20;

}  // namespace

OrderedJson printed_result(const std::string& out) {
  const auto whole = parse_ordered_json(out, "result");
  if (whole.ok() && whole->is_object()) return *whole;
  const std::string_view text = trim(out);
  const size_t line = text.rfind('\n');
  if (line == std::string_view::npos) return {};
  const auto last = parse_ordered_json(text.substr(line + 1), "result");
  return last.ok() && last->is_object() ? *last : OrderedJson();
}

const OrderedJson* member_at(const OrderedJson& result, const std::string& member) {
  const OrderedJson* value = &result;
  for (const std::string& key : split(member, '.')) {
    const auto at = value->is_object() ? value->find(key) : value->end();
    if (!value->is_object() || at == value->end() || at->is_null()) return nullptr;
    value = &*at;
  }
  return value;
}

RunRecord::~RunRecord() {
  if (lock_ >= 0) ::close(lock_);
}

Status RunRecord::take_lock() {
  HONE_TRY(make_run_folder(folder()));
  HONE_TRY(store_.make_dirs(folder() + "/logs"));
  close_to_others(folder() + "/logs");
  const std::string path = folder() + "/.lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0)
    return Error(err::kPipelineState,
                 fmt::format("cannot make '{}': {}", path, std::strerror(errno)))
        .todo("check that this account may write the folder");
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return Ok{};
  return Error(err::kPipelineBusy,
               fmt::format("process {} runs the pipeline run '{}'", run.pid, run.id))
      .at(folder())
      .todo("wait for it, end it with 'hone pipeline cancel', or begin a new run with --fresh");
}

Status RunRecord::recover(const Pipeline& pipeline) {
  HONE_TRY(store_.remove_unfinished(folder()));
  for (StepRow& row : HONE_TRY(state_.steps(run.id))) rows[row.name] = std::move(row);
  for (auto& [name, row] : rows) {
    if (row.pid == 0) continue;
    if (end_leftovers(row.pid, row.pid_start, row.token, kPatience))
      log_info("{:<11} ended the command of a run that was killed", name);
    row.pid = 0;
    row.pid_start.clear();
    HONE_TRY(state_.put(row));
    HONE_TRY(redact_logs(name));
  }
  for (const PipelineStep& step : pipeline.steps) {
    StepRow& row = rows[step.name];
    row.run = run.id;
    row.name = step.name;
    if (row.status == "running" || row.status == "failed" || row.status == "skipped")
      row.status = "pending";
  }
  return Ok{};
}

Status RunRecord::redact_logs(const std::string& step) {
  for (const char* end : {".log", ".out"}) HONE_TRY(redact_file(store_, log_of(step, end)));
  return Ok{};
}

Status RunRecord::describe(const Pipeline& pipeline) {
  OrderedJson steps = OrderedJson::array();
  for (const PipelineStep& s : pipeline.steps) {
    const StepRow& row = rows.at(s.name);
    OrderedJson inputs = OrderedJson::object();
    for (const auto& [name, from] : s.inputs) inputs[name] = redact_address(from);
    steps.push_back({{"name", s.name},
                     {"needs", s.needs},
                     {"when", s.when},
                     {"command", redact_command(s.command)},
                     {"inputs", inputs},
                     {"status", row.status},
                     {"message", row.message}});
  }
  // Relative paths of the commands begin there.
  std::error_code gone;
  const std::string here = std::filesystem::current_path(gone).string();
  const OrderedJson j = {{"run", run.id},
                         {"pipeline", pipeline.name},
                         {"status", run.status},
                         {"begun", format_utc(run.begun_s)},
                         {"folder", here},
                         {"steps", steps},
                         {"config", redact_secrets(pipeline.config)}};
  const std::string text = dump_json(j, {.indent = 2}) + "\n";
  HONE_TRY(store_.write(folder() + "/run.json", text));
  if (in_bucket()) HONE_TRY(store_.write(run.root + "/" + run.id + "/run.json", text));
  return Ok{};
}

Result<std::string> RunRecord::member_of(const StepReference& r) const {
  const OrderedJson* value = member_at(rows.at(r.name).result, r.member);
  if (value == nullptr)
    return Error(err::kPipelineFile, fmt::format("step '{}' printed no '{}'", r.name, r.member))
        .at(log_of(r.name, ".out"))
        .todo("a step that others refer to prints one JSON object, as hone does with --json");
  std::string text = value->is_string() ? value->get<std::string>() : dump_json(*value);
  if (text.find(kRedacted) == std::string::npos) return text;
  return Error(err::kPipelineFile,
               fmt::format("'{}' of step '{}' holds a secret, which is not kept", r.member, r.name))
      .at(log_of(r.name, ".out"))
      .todo("give the step that needs it the secret by a variable of the environment");
}

Result<bool> RunRecord::take_from_earlier(const PipelineStep& step) {
  StepRow& row = rows.at(step.name);
  for (const StepRow& earlier : HONE_TRY(state_.done_with_key(row.key))) {
    if (earlier.run == run.id) continue;
    const std::string from = fmt::format("{}/{}/{}", run.folder, earlier.run, step.name);
    if (earlier.name != step.name || !HONE_TRY(store_.exists(from))) continue;
    if (HONE_TRY(content_of(store_, from)).hash != earlier.hash) continue;
    const std::string taken = place(step.name, ".taken");
    HONE_TRY(store_.remove_all(taken));
    HONE_TRY(link_folder(store_, from, taken));
    row.reused_from = earlier.run;
    row.result = earlier.result;
    row.begun_s = row.ended_s = system_clock().wall_seconds();
    HONE_TRY(state_.put(row));
    HONE_TRY(store_.rename(taken, place(step.name, ".done")));
    return true;
  }
  return false;
}

Status RunRecord::commit(const PipelineStep& step) {
  StepRow& row = rows.at(step.name);
  const std::string done = place(step.name, ".done");
  if (row.reused_from.empty()) {
    const std::string out = log_of(step.name, ".out");
    row.result = nullptr;
    if (const auto bytes = store_.bytes(out); bytes.ok() && *bytes <= kMostResultBytes)
      row.result = redact_secrets(printed_result(HONE_TRY(store_.read(out))));
    HONE_TRY(redact_logs(step.name));
    row.ended_s = system_clock().wall_seconds();
  }
  row.status = "committing";
  row.pid = 0;
  row.pid_start.clear();
  row.hash = HONE_TRY(content_of(store_, done)).hash;
  HONE_TRY(state_.put(row));
  HONE_TRY(store_.remove_all(place(step.name, ".json")));
  HONE_TRY(replace_folder(store_, done, place(step.name)));
  return conclude(step);
}

Status RunRecord::conclude(const PipelineStep& step) {
  StepRow& row = rows.at(step.name);
  OrderedJson files = OrderedJson::array();
  for (const ArtifactFile& f : HONE_TRY(content_of(store_, place(step.name))).files)
    files.push_back({{"path", f.path}, {"bytes", f.bytes}, {"sha256", f.sha256}});
  const OrderedJson description = {{"step", step.name},
                                   {"run", run.id},
                                   {"key", row.key},
                                   {"hash", row.hash},
                                   {"command", redact_command(step.command)},
                                   {"begun", format_utc(row.begun_s)},
                                   {"ended", format_utc(row.ended_s)},
                                   {"attempts", row.attempts},
                                   {"reused_from", row.reused_from},
                                   {"result", row.result},
                                   {"files", files}};
  const std::string json = place(step.name, ".json");
  HONE_TRY(store_.write(json, dump_json(description, {.indent = 2}) + "\n"));
  HONE_TRY(store_.remove_all(place(step.name, ".part")));
  if (in_bucket()) {
    const std::string there = run.root + "/" + run.id;
    HONE_TRY(publish_step(store_, place(step.name), json, there + "/" + step.name));
    for (const char* end : {".log", ".out"})
      if (HONE_TRY(store_.exists(log_of(step.name, end))))
        HONE_TRY(store_.write(there + "/logs/" + step.name + end,
                              HONE_TRY(store_.read(log_of(step.name, end)))));
  }
  row.status = "done";
  HONE_TRY(state_.put(row));
  return Ok{};
}

}  // namespace hone
