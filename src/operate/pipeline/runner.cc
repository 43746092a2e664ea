#include "operate/pipeline/runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <random>
#include <set>

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/errors.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "operate/pipeline/artifacts.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/display.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/published.h"
#include "operate/pipeline/run_record.h"

namespace hone {
namespace {

constexpr double kTimeoutPatience = 10, kTick = 0.05, kTail = 0.5;
constexpr double kFirstPause = 1, kLongestPause = 60;
constexpr int64_t kTailBytes = 4096;

std::string random_letters(int count) {
  static std::random_device device;
  std::string text;
  while (count-- > 0) text += "abcdefghijklmnopqrstuvwxyz0123456789"[device() % 36];
  return text;
}

std::string new_pipeline_run(const std::string& pipeline) {
  std::string time = format_utc(system_clock().wall_seconds());  // 2026-05-04T12:30:05Z
  std::erase_if(time, [](char c) { return c < '0' || c > '9'; });
  return fmt::format("{}-{}-{}", pipeline, time, random_letters(4));
}

// `advice`: that of the step's command, or "".
std::string what_to_do(const Pipeline& pipeline, std::string advice) {
  const std::string again = "type the same command again: steps that are done are kept";
  if (advice.empty()) return "correct it and " + again;
  if (pipeline.is_recipe() && advice.find("--") != std::string::npos)
    advice += fmt::format(" ({})", kFlagsAreKeys);
  return advice + (advice.ends_with('?') || advice.ends_with('.') ? " then " : "; then ") + again;
}

struct RunningStep {
  const PipelineStep* step = nullptr;
  Child child = {};
  FileDescriptor ended = {};  // readable when it has ended
  double began = 0, last_tail = 0;
  double asked_to_end = 0;  // by its timeout
  int64_t log_from = 0;     // where this attempt's log begins
};

class PipelineRunner {
 public:
  PipelineRunner(const Pipeline& pipeline, const PipelineOptions& options)
      : pipeline_(pipeline), options_(options), store_(file_store()) {}
  ~PipelineRunner() {
    for (const auto& [name, r] : running_) signal_group(r.child.pid, SIGKILL);
  }

  Result<PipelineOutcome> run() {
    folder_ = options_.folder.empty() ? folder_of_root(options_.root) : options_.folder;
    HONE_TRY(store_.make_dirs(folder_));
    state_ = HONE_TRY(PipelineState::open(folder_ + "/pipeline.db"));
    bool continues = false;
    record_.emplace(store_, *state_, HONE_TRY(choose_run(continues)));
    HONE_TRY(record_->take_lock());
    PipelineRunRow& run = record_->run;
    link_ = link_to_run(options_.root, run.id, options_.project);
    log_info("{:<11} {}{}  {}", "run", run.id, continues ? ", which continues" : "", link_);
    HONE_TRY(record_->recover(pipeline_));
    run.status = "running";
    run.message.clear();
    run.pid = ::getpid();
    run.pid_start = start_of_process(run.pid);
    HONE_TRY(state_->put(run));
    HONE_TRY(record_->describe(pipeline_));
    std::vector<std::string> names;
    for (const PipelineStep& s : pipeline_.steps) names.push_back(s.name);
    display_.emplace(std::move(names));
    Status worked = work();
    display_->finish();
    if (!worked.ok() && !error_) error_ = std::move(worked.error());
    return finish();
  }

 private:
  Result<PipelineRunRow> choose_run(bool& continues) {
    PipelineRunRow run;
    run.pipeline = pipeline_.name;
    run.root = options_.root;
    run.folder = folder_;
    run.config = redact_secrets(pipeline_.config);
    run.config_hash = sha256_of_text(pipeline_.name + "\n" + dump_json(pipeline_.config));
    run.begun_s = system_clock().wall_seconds();
    if (!options_.run.empty()) {
      const auto known = HONE_TRY(state_->run(options_.run));
      if (known && known->config_hash != run.config_hash)
        return Error(err::kPipelineFile,
                     fmt::format("run '{}' was started with another configuration", options_.run))
            .at("--run")
            .todo("give the run another name; steps that have not changed are reused");
      continues = known.has_value();
      if (known) return *known;
      run.id = options_.run;
      return run;
    }
    if (!options_.fresh)
      for (const PipelineRunRow& known : HONE_TRY(state_->runs())) {
        if (known.config_hash != run.config_hash || known.root != run.root) continue;
        if (known.status == "finished" || known.status == "cancelled") break;
        continues = true;
        return known;
      }
    run.id = new_pipeline_run(pipeline_.name);
    return run;
  }

  Status work() {
    for (;;) {
      bool waiting = false;
      if (!error_ && !stop_requested())
        for (const PipelineStep& step : pipeline_.steps) {
          if (settled_.contains(step.name) || running_.contains(step.name)) continue;
          if (!needs_are_settled(step)) continue;
          waiting = true;
          if (retry_at_[step.name] > system_clock().seconds()) continue;
          if (static_cast<int64_t>(running_.size()) >= options_.jobs) break;
          if (Status begun = begin(step); !begun.ok())
            HONE_TRY(failed(step, std::move(begun.error())));
          if (error_) break;
        }
      if (running_.empty() && (!waiting || error_ || stop_requested())) return Ok{};
      if (stop_requested() && !passed_on_) {
        passed_on_ = true;
        for (const auto& [name, r] : running_) signal_group(r.child.pid, SIGTERM);
      }
      HONE_TRY(watch());
      display_->redraw();
      wait_a_little();
    }
  }

  // Waits for the end of a command, at most one tick.
  void wait_a_little() {
    std::vector<pollfd> ends;
    for (const auto& [name, r] : running_)
      if (r.ended) ends.push_back({r.ended.get(), POLLIN, 0});
    if (::poll(ends.data(), ends.size(), static_cast<int>(kTick * 1000)) < 0)
      system_clock().sleep(kTick);
  }

  bool needs_are_settled(const PipelineStep& step) const {
    for (const std::string& need : step.needs)
      if (!settled_.contains(need)) return false;
    return true;
  }

  // `shown`: the reason on the terminal.
  Status skip(const PipelineStep& step, const std::string& why, const std::string& shown) {
    StepRow& row = record_->rows.at(step.name);
    row.status = "skipped";
    row.message = why;
    row.result = nullptr;
    settled_.insert(step.name);
    HONE_TRY(state_->put(row));
    display_->set(step.name, "skipped", shown);
    return Ok{};
  }

  // Hash of all that the step depends on.
  Result<std::string> key_of(const PipelineStep& step) {
    OrderedJson inputs = OrderedJson::object();
    for (const auto& [name, from] : step.inputs) {
      if (!inputs_.contains(from)) {
        auto content = content_of(store_, from);
        if (!content.ok())
          return std::move(content.error())
              .at(fmt::format("step '{}', input '{}'", step.name, name));
        inputs_[from] = content->hash;
      }
      inputs[name] = inputs_.at(from);
    }
    OrderedJson words = OrderedJson::array();
    for (const std::string& word : step.command)
      words.push_back(
          HONE_TRY(expand_references(word, [&](const StepReference& r) -> Result<std::string> {
            if (r.kind == StepReference::kInput)
              return "${input " + inputs.at(r.name).get<std::string>() + "}";
            if (r.kind == StepReference::kFolder)
              return "${folder " + record_->rows.at(r.name).hash + "}";
            if (r.kind == StepReference::kResult) return record_->member_of(r);
            if (r.kind == StepReference::kRun) return record_->run.id;
            return r.text();
          })));
    const bool hone = step.command[0] == "hone";
    return sha256_of_text(dump_json(OrderedJson{
        {"hone", hone ? options_.version : ""}, {"command", words}, {"inputs", inputs}}));
  }

  Result<std::vector<std::string>> words_of(const PipelineStep& step) {
    std::vector<std::string> words;
    for (const std::string& word : step.command)
      words.push_back(
          HONE_TRY(expand_references(word, [&](const StepReference& r) -> Result<std::string> {
            if (r.kind == StepReference::kOut) return record_->place(step.name, ".part");
            if (r.kind == StepReference::kRun) return record_->run.id;
            if (r.kind == StepReference::kCache) return folder_ + "/cache";
            if (r.kind == StepReference::kFolder) return record_->place(r.name);
            if (r.kind == StepReference::kResult) return record_->member_of(r);
            for (const auto& [name, from] : step.inputs)
              if (name == r.name) return from;
            return r.text();
          })));
    return words;
  }

  Status begin(const PipelineStep& step) {
    for (const std::string& need : step.needs)
      if (const std::string why = need + " was skipped"; record_->rows.at(need).status == "skipped")
        return skip(step, why, why);
    StepRow& row = record_->rows.at(step.name);
    if (!step.when.empty()) {
      const StepCondition c = HONE_TRY(parse_condition(step.when));
      const std::string left = HONE_TRY(record_->member_of(c.left));
      if (!HONE_TRY(condition_holds(c, left))) {
        const std::string reason = text_at(record_->rows.at(c.left.name).result, "reason");
        const std::string what = fmt::format("{} says {} is {}", c.left.name, c.left.member, left),
                          why = what + (reason.empty() ? "" : ": " + reason);
        const bool is_shown = !results_of(*pipeline_.find(c.left.name)).empty();
        return skip(step, why, is_shown ? what : why);
      }
    }
    const std::string key = HONE_TRY(key_of(step));
    const std::string final = record_->place(step.name), done = record_->place(step.name, ".done"),
                      part = record_->place(step.name, ".part");
    if (row.key == key) {
      // Its command had ended, and what it wrote may already have its name.
      if (HONE_TRY(store_.exists(done))) return commit(step);
      if ((row.status == "done" || row.status == "committing") && HONE_TRY(store_.exists(final)) &&
          HONE_TRY(content_of(store_, final)).hash == row.hash)
        return row.status == "done" ? keep(step) : conclude(step);
    } else {
      HONE_TRY(store_.remove_all(done));
      HONE_TRY(store_.remove_all(part));
      row = StepRow{.run = record_->run.id, .name = step.name, .key = key};
    }
    if (step.reuse && !options_.fresh && HONE_TRY(record_->take_from_earlier(step)))
      return commit(step);
    return start(step);
  }

  Status keep(const PipelineStep& step) {
    settled_.insert(step.name);
    display_->set(step.name, "done", "was done already", results_of(step));
    return Ok{};
  }

  Status start(const PipelineStep& step) {
    StepRow& row = record_->rows.at(step.name);
    const std::string part = record_->place(step.name, ".part");
    if (!step.continues) HONE_TRY(store_.remove_all(part));
    HONE_TRY(store_.make_dirs(part));
    ChildRequest r{.command = HONE_TRY(words_of(step)),
                   .environment = {},
                   .out_file = record_->log_of(step.name, ".out"),
                   .log_file = record_->log_of(step.name),
                   .token = random_letters(20),
                   .death_signal = step.continues ? SIGTERM : SIGKILL,
                   .part = part,
                   .done = record_->place(step.name, ".done")};
    if (r.command[0] == "hone") r.command[0] = options_.program;
    if (record_->in_bucket()) r.environment = published_environment(folder_, options_.root);
    if (!options_.project.empty()) r.environment["GOOGLE_CLOUD_PROJECT"] = options_.project;
    RunningStep running{.step = &step, .began = system_clock().seconds()};
    if (HONE_TRY(store_.exists(r.log_file))) running.log_from = HONE_TRY(store_.bytes(r.log_file));
    row.status = "running";
    if (row.attempts == 0) row.message.clear();  // the reasons of earlier attempts stay
    row.reused_from.clear();
    row.token = r.token;
    row.begun_s = system_clock().wall_seconds();
    ++row.attempts;
    const auto record = [&](pid_t pid) -> Status {
      row.pid = pid;
      row.pid_start = start_of_process(pid);
      return state_->put(row);
    };
    auto child = start_child(r, record);
    if (!child.ok()) return failed(step, std::move(child.error()));
    running.child = std::move(*child);
    running.ended =
        FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, running.child.pid, 0)));
    running_[step.name] = std::move(running);
    display_->set(step.name, "running",
                  row.attempts > 1 ? fmt::format("attempt {}", row.attempts) : "");
    return Ok{};
  }

  Status watch() {
    const double now = system_clock().seconds();
    std::vector<std::pair<std::string, int>> ended;  // steps and statuses
    for (auto& [name, r] : running_) {
      if (const auto end = child_ended(r.child.pid)) {
        ended.emplace_back(name, end->status);
        continue;
      }
      const double limit = r.step->timeout_s;
      if (limit > 0 && now - r.began > limit) {
        signal_group(r.child.pid, r.asked_to_end == 0                       ? SIGTERM
                                  : now - r.asked_to_end > kTimeoutPatience ? SIGKILL
                                                                            : 0);
        if (r.asked_to_end == 0) r.asked_to_end = now;
      }
      if (now - r.last_tail > kTail) {
        r.last_tail = now;
        display_->tell(name, redact_text(last_line_of(tail_of(name, r.log_from))));
      }
    }
    std::vector<std::pair<RunningStep, int>> all;
    for (const auto& [name, status] : ended)
      all.emplace_back(std::move(running_.extract(name).mapped()), status);
    for (const auto& [r, status] : all)
      HONE_TRY(status == 0 ? commit(*r.step) : end_badly(r, status));
    return Ok{};
  }

  std::string tail_of(const std::string& step, int64_t from) {
    const auto bytes = store_.bytes(record_->log_of(step));
    if (!bytes.ok() || *bytes <= from) return "";
    const int64_t begin = std::max(from, *bytes - kTailBytes);
    const auto text = store_.read(record_->log_of(step), begin, *bytes - begin);
    return text.ok() ? *text : "";
  }

  // The file to read about an attempt: the log, or standard output if the attempt wrote to it alone.
  std::string output_of(const RunningStep& r) {
    const std::string log = record_->log_of(r.step->name),
                      out = record_->log_of(r.step->name, ".out");
    const auto bytes = store_.bytes(log), printed = store_.bytes(out);
    const bool is_silent = !bytes.ok() || *bytes <= r.log_from;
    return is_silent && printed.ok() && *printed > 0 ? out : log;
  }

  Status end_badly(const RunningStep& r, int status) {
    const PipelineStep& step = *r.step;
    StepRow& row = record_->rows.at(step.name);
    signal_group(r.child.pid, SIGKILL);  // what it started and left
    row.pid = 0;
    row.pid_start.clear();
    const std::optional<Error> error = r.child.error();
    const std::string tail = redact_text(tail_of(step.name, r.log_from));
    HONE_TRY(record_->redact_logs(step.name));
    if (stop_requested()) {
      row.status = "pending";
      display_->set(step.name, "stopped", "");
      return state_->put(row);
    }
    const std::string why =
        r.asked_to_end > 0 ? fmt::format("took longer than {}", format_duration(step.timeout_s))
        : status > 128 && status < 193 ? fmt::format("was ended by signal {}", status - 128)
                                       : fmt::format("failed with status {}", status);
    const std::vector<std::string> said = lines_of_failure(error, tail);
    int64_t& tries = tries_[step.name];
    if (tries < step.retries &&
        (r.asked_to_end > 0 || may_be_repeated(step.command, status, error))) {
      const double pause = std::min(
          kLongestPause, kFirstPause * static_cast<double>(1 << std::min<int64_t>(tries, 10)));
      ++tries;
      row.status = "pending";
      row.message += fmt::format("{}attempt {} {}{}", row.message.empty() ? "" : "; ", row.attempts,
                                 why, said.empty() ? "" : ": " + said[0]);
      HONE_TRY(state_->put(row));
      retry_at_[step.name] = system_clock().seconds() + pause;
      display_->set(step.name, "waiting",
                    fmt::format("{}: repeat {} of {} in {:.0f} s", why, tries, step.retries, pause),
                    said);
      return Ok{};
    }
    Error e(err::kStepFailed, fmt::format("step '{}' {}", step.name, why));
    const std::string advice = error ? error->remedy() : "";
    const size_t places = said.size() - (advice.empty() ? 0 : split(advice, '\n').size());
    for (size_t i = 0; i < std::min<size_t>(places, 12); ++i) e.at(said[i]);
    return failed(step, std::move(e).at(output_of(r)).todo(what_to_do(pipeline_, advice)), error);
  }

  // `cause`: the error that the step's command reported.
  Status failed(const PipelineStep& step, Error error, const std::optional<Error>& cause = {}) {
    StepRow& row = record_->rows.at(step.name);
    // A step that is done stays done if only its publication failed.
    if (row.status != "committing") {
      row.status = "failed";
      row.result = {{"error", error_json(error)}};
      if (cause) row.result["cause"] = error_json(*cause);
      row.result = redact_secrets(std::move(row.result));
    }
    row.message = redact_text(error.what());
    row.ended_s = system_clock().wall_seconds();
    row.pid = 0;
    display_->set(step.name, "failed", error.what());
    error_ = std::move(error);
    return state_->put(row);
  }

  Status commit(const PipelineStep& step) {
    HONE_TRY(record_->commit(step));
    return settle(step);
  }
  Status conclude(const PipelineStep& step) {
    HONE_TRY(record_->conclude(step));
    return settle(step);
  }
  Status settle(const PipelineStep& step) {
    const StepRow& row = record_->rows.at(step.name);
    settled_.insert(step.name);
    display_->set(step.name, "done",
                  row.reused_from.empty()
                      ? "in " + format_duration(std::max(0.0, row.ended_s - row.begun_s))
                      : "unchanged, taken from " + row.reused_from,
                  results_of(step));
    return Ok{};
  }
  std::vector<std::string> results_of(const PipelineStep& step) const {
    if (!options_.results) return {};
    return options_.results(step, record_->rows.at(step.name), record_->place(step.name));
  }

  Result<PipelineOutcome> finish() {
    PipelineRunRow& run = record_->run;
    PipelineOutcome o;
    o.run = run.id;
    o.link = link_;
    o.status = error_ ? "failed" : stop_requested() ? "stopped" : "finished";
    o.stop_signal = stop_signal();
    const auto now = state_->run(run.id);
    run.status = now.ok() && *now && (*now)->status == "cancelled" ? "cancelled" : o.status;
    run.message = error_ ? redact_text(error_->what()) : "";
    run.ended_s = system_clock().wall_seconds();
    run.pid = 0;
    // If that cannot be written either, the known error still counts.
    Status written = state_->put(run);
    if (written.ok()) written = record_->describe(pipeline_);
    if (!written.ok() && !error_) return std::move(written.error());
    for (const PipelineStep& s : pipeline_.steps) o.steps.push_back(record_->rows.at(s.name));
    o.error = std::move(error_);
    return o;
  }

  const Pipeline& pipeline_;
  const PipelineOptions& options_;
  Store& store_;
  std::string folder_, link_;
  bool passed_on_ = false;
  std::unique_ptr<PipelineState> state_;
  std::optional<RunRecord> record_;
  std::map<std::string, RunningStep> running_;
  std::set<std::string> settled_;  // done or skipped in this process
  std::map<std::string, double> retry_at_;
  std::map<std::string, int64_t> tries_;
  std::map<std::string, std::string> inputs_;  // content hashes
  std::optional<StepDisplay> display_;
  std::optional<Error> error_;
};

}  // namespace

Result<PipelineOutcome> run_pipeline(const Pipeline& pipeline, const PipelineOptions& options) {
  install_stop_handlers();
  return PipelineRunner(pipeline, options).run();
}

}  // namespace hone
