#include "operate/pipeline/pipeline.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/core/clock.h"
#include "base/store/errors.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "operate/pipeline/artifacts.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/cron.h"
#include "operate/pipeline/display.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/read_pipeline.h"
#include "operate/pipeline/run_record.h"
#include "operate/pipeline/runner.h"
#include "operate/pipeline/state.h"
#include "operate/pipeline/step_logs.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<Pipeline> pipeline_from(std::string_view text, const std::string& name) {
  return read_pipeline(text, name, [](const ConfigTree& tree) -> Result<Pipeline> {
    return Error(err::kPipelineFile, "no steps").at(tree.name);
  });
}

std::string text_of(const std::string& text, const std::string& name) {
  const auto p = pipeline_from(text, name);
  return p.ok() ? "" : p.error().text();
}

const char* kSteps = R"(name: words
steps:
  - name: second
    run: [cp, "${steps.first}/a", "${out}/b"]
    timeout: 2m
  - name: first
    run: |
      sh -c 'cp ${inputs.rows} ${out}/a; echo "{\"lines\": 3}"'
    inputs: {rows: rows.txt}
    retries: 2
  - name: third
    run: touch ${out}/c
    when: ${steps.first.lines} > 2
)";

TEST(Steps, YamlIsReadAndOrdered) {
  const Pipeline p = pipeline_from(kSteps, "steps.yaml").value();
  EXPECT_EQ(p.steps[0].name, "first");
  EXPECT_EQ(p.steps[0].retries, 2);
  EXPECT_EQ(p.steps[1].timeout_s, 120);
  EXPECT_THAT(p.find("third")->needs, ElementsAre("first"));
  // A configuration survives writing and reading.
  const OrderedJson config = read_config_tree(kSteps, "steps.yaml").value().value;
  EXPECT_EQ(read_config_tree(yaml_text(config), "again.yaml").value().value, config);
}

TEST(Steps, MistakesAreFoundBeforeTheFirstStep) {
  const auto one = [](const std::string& lines) { return text_of("steps:\n" + lines, "s.yaml"); };
  EXPECT_THAT(one("  - {name: a, run: 'x ${steps.b}'}\n"), HasSubstr("there is no step 'b'"));
  EXPECT_THAT(one("  - {name: a, run: 'x ${steps.a}'}\n"), HasSubstr("waits for itself"));
  EXPECT_THAT(one("  - {name: a, run: 'x ${steps.b}'}\n  - {name: b, run: 'x ${steps.a}'}\n"),
              HasSubstr("wait for each other: a, b"));
  EXPECT_THAT(one("  - {name: a, run: x}\n  - {name: a, run: x}\n"), HasSubstr("two steps"));
  EXPECT_THAT(one("  - {name: a, run: 'x ${inputs.row}', inputs: {rows: r}}\n"),
              HasSubstr("did you mean rows?"));
  EXPECT_THAT(one("  - {name: a, run: x, retrys: 3}\n"), HasSubstr("did you mean retries?"));
  EXPECT_THAT(one("  - {name: a, run: 'x ${outt}'}\n"), HasSubstr("refers to nothing"));
  EXPECT_THAT(one("  - {name: a, run: \"x 'y\"}\n"), HasSubstr("has no second one"));
  EXPECT_THAT(one("  - {name: a/b, run: x}\n"), HasSubstr("cannot be the name"));
  EXPECT_THAT(one("  - {name: a, run: x, timeout: soon}\n"), HasSubstr("a time such as"));
  EXPECT_THAT(one("  - {name: a, run: x, when: '${steps.b.c} ~ 3'}\n"), HasSubstr("condition"));
  EXPECT_EQ(text_of("steps: []\n", "s.yaml").substr(0, 5), err::kPipelineFile.id);
  EXPECT_THAT(text_of("", "s.yaml"), HasSubstr("H3161  the file is empty\n  at   s.yaml\n"));
  EXPECT_THAT(text_of(" \n", "s.json"), HasSubstr("H0001  the file is empty\n  at   s.json\n"));
}

TEST(References, ConditionsCompareNumbersAndTexts) {
  const auto holds = [](const std::string& text, const std::string& left) {
    return condition_holds(parse_condition(text).value(), left).value();
  };
  EXPECT_TRUE(holds("${steps.a.b} == promote", "promote"));
  EXPECT_FALSE(holds("${steps.a.b} != promote", "promote"));
  EXPECT_TRUE(holds("${steps.a.b} < 10", "9.5"));
  EXPECT_TRUE(holds("${steps.a.b} == 2", "2.0"));
  EXPECT_FALSE(holds("${steps.a.b} >= 10", "9.5"));
  EXPECT_FALSE(condition_holds(parse_condition("${steps.a.b} < 10").value(), "none").ok());
  EXPECT_FALSE(parse_condition("${steps.a.b} < ten").ok());
  EXPECT_FALSE(parse_condition("${steps.a} == x").ok());
  EXPECT_EQ(expand_references(
                "$${x} ${out}",
                [](const StepReference&) -> Result<std::string> { return std::string("o"); })
                .value(),
            "${x} o");
}

TEST(Display, LinesAreBrokenBetweenWordsAndLoseNothing) {
  EXPECT_EQ(wrapped_text("evaluate       done     ", "in 3 s", 15, 40),
            "evaluate       done     in 3 s\n");
  EXPECT_EQ(wrapped_text("decide         done     ", "rougeL 31.2 against 30.1 of news:1", 15, 40),
            "decide         done     rougeL 31.2\n"
            "               against 30.1 of news:1\n");
  EXPECT_EQ(
      wrapped_text("a-step-with-a-long-name failed ", "a/path/longer/than/the/line/is", 4, 30),
      "a-step-with-a-long-name failed\n    a/path/longer/than/the/line/is\n");
  EXPECT_EQ(wrapped_text("train          waiting  ", "", 15, 40), "train          waiting\n");
  EXPECT_EQ(wrapped_text("  ", "Größe 3, ein Maß", 2, 10), "  Größe 3,\n  ein Maß\n");
}

TEST(Cron, TimesAreThoseOfCrontab) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const auto next = [](const std::string& cron, const std::string& after) {
    const auto times = CronTimes::parse(cron);
    EXPECT_TRUE(times.ok()) << cron;
    const double at = times->next(static_cast<double>(parse_utc(after)));
    return at == 0 ? std::string("never") : format_utc(at);
  };
  const std::string monday = "2026-05-04T12:30:05Z";
  EXPECT_EQ(next("* * * * *", monday), "2026-05-04T12:31:00Z");
  EXPECT_EQ(next("0 3 * * *", monday), "2026-05-05T03:00:00Z");
  EXPECT_EQ(next("*/20 8-18 * * mon-fri", monday), "2026-05-04T12:40:00Z");
  EXPECT_EQ(next("30 12 * * *", "2026-05-04T12:30:00Z"), "2026-05-05T12:30:00Z");
  EXPECT_EQ(next("0 0 1 jan *", monday), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next("0 0 29 2 *", monday), "2028-02-29T00:00:00Z");
  EXPECT_EQ(next("0 0 30 2 *", monday), "never");
  EXPECT_EQ(next("0 0 13 * 5", monday), "2026-05-08T00:00:00Z");  // either day is enough
  EXPECT_EQ(next("5,10 * * * 7", monday), "2026-05-10T00:05:00Z");
  EXPECT_EQ(next("@monthly", monday), "2026-06-01T00:00:00Z");
  for (const char* bad : {"", "* * * *", "60 * * * *", "0 25 * * *", "0 0 0 * *", "*/0 * * * *",
                          "5-1 * * * *", "a * * * *", "1,, * * * *", "0 0 1 13 *"})
    EXPECT_EQ(std::string(CronTimes::parse(bad).error().code()), err::kCron.id) << bad;
}

TEST(State, RowsComeBack) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/pipeline.db";
  {
    auto state = PipelineState::open(path).value();
    for (const char* id : {"r1", "r2"})
      ASSERT_TRUE(state
                      ->put(PipelineRunRow{.id = id,
                                           .pipeline = "p",
                                           .config_hash = {},
                                           .root = {},
                                           .folder = {},
                                           .status = "running"})
                      .ok());
    ASSERT_TRUE(state
                    ->put(StepRow{.run = "r1",
                                  .name = "a",
                                  .status = "done",
                                  .key = "k",
                                  .hash = "h",
                                  .result = {{"x", 1}}})
                    .ok());
  }
  auto state = PipelineState::open(path).value();
  EXPECT_EQ(state->runs().value()[0].id, "r2");
  // A run that is written again is not newer for that.
  PipelineRunRow first = *state->run("r1").value(), second = *state->run("r2").value();
  first.begun_s = 1, second.begun_s = 2, first.status = "cancelled";
  ASSERT_TRUE(state->put(second).ok() && state->put(first).ok());
  EXPECT_EQ(state->runs().value()[0].id, "r2");
  // Reading changes nothing, and refuses a file of another program.
  EXPECT_EQ(PipelineState::read(path).value()->runs().value().size(), 2u);
  EXPECT_FALSE(PipelineState::read(folder.path + "/none.db").ok());
  EXPECT_FALSE(file_store().exists(folder.path + "/none.db").value());
  const auto found = state->done_with_key("k").value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].result, (OrderedJson{{"x", 1}}));
  EXPECT_TRUE(file_store().write(folder.path + "/bad.db", std::string(4096, 'x')).ok());
  EXPECT_EQ(std::string(PipelineState::open(folder.path + "/bad.db").error().code()),
            err::kPipelineState.id);
}

PipelineOptions options_in(const TemporaryFolder& folder) {
  return {.root = folder.path + "/runs",
          .folder = {},
          .program = "hone",
          .version = "1",
          .project = {},
          .run = {}};
}
std::string status_text(const PipelineOutcome& o) {
  std::string text = o.status;
  for (const StepRow& s : o.steps)
    text += " " + s.name + ":" + (s.reused_from.empty() ? s.status : "reused");
  return text;
}

TEST(Runner, StepsRunAndAreReusedByContent) {
  const TemporaryFolder folder;
  const std::string rows = folder.path + "/rows.txt";
  ASSERT_TRUE(file_store().write(rows, "one\n").ok());
  std::string text = kSteps;
  text.replace(text.find("rows.txt"), 8, rows);
  const Pipeline p = pipeline_from(text, "steps.yaml").value();
  const PipelineOutcome first = run_pipeline(p, options_in(folder)).value();
  EXPECT_EQ(status_text(first), "finished first:done second:done third:done");
  const std::string out = folder.path + "/runs/" + first.run;
  EXPECT_EQ(file_store().read(out + "/second/b").value(), "one\n");
  EXPECT_EQ(
      text_at(parse_json(file_store().read(out + "/second.json").value(), "j").value(), "step"),
      "second");
  EXPECT_EQ(status_text(run_pipeline(p, options_in(folder)).value()),
            "finished first:reused second:reused third:reused");
  // Other content: what depends on it runs again, though the command is the same.
  ASSERT_TRUE(file_store().write(rows, "two\n").ok());
  EXPECT_EQ(status_text(run_pipeline(p, options_in(folder)).value()),
            "finished first:done second:done third:reused");
  // Damaged results are not reused.
  const PipelineOutcome again = run_pipeline(p, options_in(folder)).value();
  for (const auto& run : std::filesystem::directory_iterator(folder.path + "/runs"))
    if (run.is_directory() && std::filesystem::exists(run.path() / "first/a")) {
      ASSERT_TRUE(file_store().write((run.path() / "first/a").string(), "damaged\n").ok());
    }
  EXPECT_EQ(status_text(run_pipeline(p, options_in(folder)).value()),
            "finished first:done second:reused third:reused");
}

Pipeline steps_of(const std::string& lines) {
  auto p = pipeline_from("steps:\n" + lines, "s.yaml");
  EXPECT_TRUE(p.ok()) << p.error().text();
  return std::move(*p);
}

TEST(Runner, AFailedStepIsRepeatedThenTold) {
  const TemporaryFolder folder;
  const std::string count = folder.path + "/count";
  const Pipeline p = steps_of("  - name: a\n    retries: 1\n    run: sh -c 'echo x >> " + count +
                              "; test $(wc -l < " + count + ") = 2'\n");
  const PipelineOutcome o = run_pipeline(p, options_in(folder)).value();
  EXPECT_EQ(status_text(o), "finished a:done");
  EXPECT_EQ(o.steps[0].attempts, 2);
  EXPECT_EQ(o.steps[0].message, "attempt 1 failed with status 1");
  const Pipeline bad = steps_of(
      "  - {name: a, run: touch x.done}\n  - {name: b, after: a, run: sh -c 'echo why >&2; exit "
      "7'}\n"
      "  - {name: c, after: b, run: touch never}\n");
  const PipelineOutcome failed = run_pipeline(bad, options_in(folder)).value();
  EXPECT_EQ(status_text(failed), "failed a:done b:failed c:pending");
  EXPECT_EQ(std::string(failed.error->code()), err::kStepFailed.id);
  EXPECT_THAT(failed.error->text(), HasSubstr("why"));
  // The same run continues.
  const PipelineOutcome again = run_pipeline(bad, options_in(folder)).value();
  EXPECT_EQ(again.run, failed.run);
  EXPECT_EQ(again.steps[0].attempts, 1);
  std::filesystem::remove("x.done");
}

TEST(Runner, TimeoutsConditionsAndMissingResults) {
  const TemporaryFolder folder;
  const Pipeline slow = steps_of("  - {name: a, run: sleep 60, timeout: 0.2s}\n");
  EXPECT_THAT(run_pipeline(slow, options_in(folder)).value().error->text(),
              HasSubstr("took longer than"));
  const Pipeline choice = steps_of(
      "  - {name: a, run: \"echo '{\\\"v\\\": \\\"refuse\\\", \\\"reason\\\": \\\"worse\\\"}'\"}\n"
      "  - {name: b, run: touch never, when: \"${steps.a.v} == promote\"}\n"
      "  - {name: c, run: touch never, after: b}\n");
  const PipelineOutcome o = run_pipeline(choice, options_in(folder)).value();
  EXPECT_EQ(status_text(o), "finished a:done b:skipped c:skipped");
  EXPECT_EQ(o.steps[1].message, "a says v is refuse: worse");
  const Pipeline lacks =
      steps_of("  - {name: a, run: echo}\n  - {name: b, run: 'echo ${steps.a.v}'}\n");
  EXPECT_THAT(run_pipeline(lacks, options_in(folder)).value().error->text(),
              HasSubstr("printed no 'v'"));
  const Pipeline gone = steps_of("  - {name: a, run: echo, inputs: {x: /nowhere/at/all}}\n");
  EXPECT_EQ(std::string(run_pipeline(gone, options_in(folder)).value().error->code()),
            err::kStepInput.id);
}

// Whatever a step echoes: its log, its result, the message of its error. A file that the step makes itself is its own.
TEST(Runner, SecretsOfAStepAreNotKept) {
  const TemporaryFolder folder;
  const std::string script = folder.path + "/echo.sh";
  ASSERT_TRUE(file_store()
                  .write(script,
                         "echo 'step HUB_TOKEN=sesame1 https://me:sesame2@host/x?sig=sesame3' >&2\n"
                         "echo 'loss 2.5 Authorization: Bearer sesame4' >&2\n"
                         "echo '{\"v\": 7, \"url\": \"https://host/x?X-Amz-Signature=sesame5\", "
                         "\"password\": \"sesame6\"}'\n"
                         "exit $1\n")
                  .ok());
  const std::string run = "run: sh " + script;
  const PipelineOutcome good =
      run_pipeline(steps_of("  - {name: a, " + run +
                            " 0}\n  - {name: b, run: 'echo ${steps.a.v}', after: a}\n"),
                   options_in(folder))
          .value();
  EXPECT_EQ(status_text(good), "finished a:done b:done");
  const PipelineOutcome bad =
      run_pipeline(steps_of("  - {name: a, " + run + " 3}\n"), options_in(folder)).value();
  EXPECT_EQ(status_text(bad), "failed a:failed");
  const PipelineOutcome uses =
      run_pipeline(steps_of("  - {name: a, " + run +
                            " 0}\n  - {name: b, run: 'echo ${steps.a.url}', after: a}\n"),
                   options_in(folder))
          .value();
  EXPECT_THAT(uses.error->text(), HasSubstr("'url' of step 'a' holds a secret"));
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path + "/runs")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string text = file_store().read(entry.path().string()).value();
    EXPECT_EQ(text.find("sesame"), std::string::npos) << entry.path() << text;
  }
  EXPECT_GE(files, 10);
  const std::string logs = folder.path + "/runs/" + good.run + "/logs";
  EXPECT_EQ(file_store().read(logs + "/a.log").value(),
            "step HUB_TOKEN=*** https://host/x?sig=***\nloss 2.5 Authorization: Bearer ***\n");
  using std::filesystem::perms;
  for (const std::string& closed : {folder.path + "/runs/" + good.run, logs, logs + "/a.log",
                                    logs + "/b.out", folder.path + "/runs/pipeline.db"})
    EXPECT_EQ(std::filesystem::status(closed).permissions() & perms::others_all, perms::none)
        << closed;
}

TEST(StepLogs, LinesOfAnyLengthAreLookedAt) {
  const auto store = make_memory_store();
  const auto redacted = [&](const std::string& text) {
    EXPECT_TRUE(store->write("x", text).ok());
    EXPECT_TRUE(redact_file(*store, "x").ok());
    return store->read("x").value();
  };
  const std::string part(3 << 20, 'a');
  EXPECT_EQ(redacted(part + " --token b\nc"), part + " --token ***\nc");
  EXPECT_EQ(redacted(part + "\nAPI_KEY=b"), part + "\nAPI_KEY=***");
  for (const std::string& same : {std::string(), std::string("\n"), std::string("a\n\nb"), part})
    EXPECT_EQ(redacted(same), same);
  EXPECT_TRUE(redact_file(*store, "none").ok());
}

TEST(Runner, OneProcessAtATimeHoldsARun) {
  const TemporaryFolder folder;
  const Pipeline p = steps_of("  - {name: a, run: sleep 0.1}\n");
  PipelineOptions options = options_in(folder);
  options.run = "r";
  auto state = (std::filesystem::create_directories(folder.path + "/runs"),
                PipelineState::open(folder.path + "/runs/pipeline.db").value());
  ASSERT_TRUE(run_pipeline(p, options).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const Pipeline held = p;
    (void)run_pipeline(held, options);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  RunRecord first(file_store(), *state, *state->run("r").value());
  ASSERT_TRUE(first.take_lock().ok());
  EXPECT_EQ(std::string(run_pipeline(p, options).error().code()), err::kPipelineBusy.id);
}

TEST(Child, WhatADeadProcessLeftIsEnded) {
  const TemporaryFolder folder;
  int64_t number = 0;
  const Child child =
      start_child({.command = {"sh", "-c", "trap '' TERM; echo ready; sleep 300 & sleep 300"},
                   .environment = {},
                   .out_file = folder.path + "/out",
                   .log_file = folder.path + "/log",
                   .token = "tokenofthetest",
                   .death_signal = SIGKILL},
                  [&](pid_t p) -> Status {
                    number = p;
                    return Ok{};
                  })
          .value();
  const pid_t pid = child.pid;
  EXPECT_EQ(number, pid);
  const auto is_ready = [&] {
    const Result<int64_t> written = file_store().bytes(folder.path + "/out");
    return written.ok() && *written > 0;
  };
  for (int i = 0; i < 3000 && !is_ready(); ++i) ::usleep(10'000);
  const std::string start = start_of_process(pid);
  EXPECT_FALSE(end_leftovers(pid, "1", "anothertoken", 0.2));  // not this one
  EXPECT_TRUE(end_leftovers(pid, start, "tokenofthetest", 0.2));
  EXPECT_EQ(start_of_process(pid), "");
  EXPECT_EQ(child_ended(pid)->status, 128 + SIGKILL);
}

TEST(Display, TheLastLineIsWhatATerminalShows) {
  EXPECT_EQ(last_line_of("a\nstep 1\rstep 2\r"), "step 2");
  EXPECT_EQ(without_label("train", "train       step 105/200"), "step 105/200");
  EXPECT_EQ(without_label("train", "trained for two steps"), "trained for two steps");
  EXPECT_EQ(last_line_of("\033[31mred\033[0m\n\n"), "red");
}

TEST(Display, FactsAreNotWhatAStepDoes) {
  for (const char* line : {"train       step 1/20", "training 16/20 80%", "evaluating  n:1 again",
                           "downloading model.safetensors", "two words"})
    EXPECT_TRUE(says_what_is_done("train", line)) << line;
  for (const char* line : {"memory_runtime_bytes     = 14958592", "train_runtime = 2.5",
                           "***** train metrics *****", "microbatch  8 rows of at most 64 tokens",
                           "memory      96.0 MiB planned", "task      sft     (--task)"})
    EXPECT_FALSE(says_what_is_done("train", line)) << line;
}

TEST(Outcome, OnlyWhatMayEndOtherwiseIsRepeated) {
  const std::vector<std::string> hone = {"hone", "train"}, other = {"sh", "-c", "x"};
  const Error away(err::kNetwork, "cannot read"), mistake(err::kPipelineFile, "no column");
  EXPECT_TRUE(may_be_repeated(hone, 137, mistake));
  EXPECT_TRUE(may_be_repeated(hone, 3, std::nullopt));
  EXPECT_TRUE(may_be_repeated(hone, 1, away));
  EXPECT_TRUE(may_be_repeated(hone, 1, std::nullopt));
  EXPECT_FALSE(may_be_repeated(hone, 1, mistake));
  EXPECT_FALSE(may_be_repeated(hone, 2, std::nullopt));
  EXPECT_TRUE(may_be_repeated(other, 1, mistake));
}

TEST(Outcome, TheReportedErrorSaysWhyElseTheLastLine) {
  const Error e = Error(err::kNetwork, "cannot read\n  x").at("--a").todo("try again");
  EXPECT_THAT(lines_of_failure(e, "log\n"),
              ElementsAre("H0107  cannot read", "x", "--a", "try again"));
  EXPECT_THAT(lines_of_failure(std::nullopt, "a\nlast\n"), ElementsAre("last"));
  EXPECT_THAT(lines_of_failure(std::nullopt, ""), IsEmpty());
}

TEST(Runner, AStepReportsItsErrorWhateverItPrints) {
  const TemporaryFolder folder;
  const auto program = [&](const std::string& report) {
    const std::string file = folder.path + "/report.sh";
    EXPECT_TRUE(file_store()
                    .write(file, "#!/bin/sh\necho \"H0101  not this\" >&2\necho '" + report +
                                     "' >>/dev/fd/$HONE_ERROR_FD\nexit 1\n")
                    .ok());
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    PipelineOptions options = options_in(folder);
    options.program = file;
    options.fresh = true;
    return options;
  };
  const Pipeline p = steps_of("  - {name: a, retries: 1, run: hone train}\n");
  const PipelineOutcome mistake =
      run_pipeline(p, program(R"({"code": "H2109", "error": "no column"})")).value();
  EXPECT_THAT(mistake.error->text(), HasSubstr("H2109  no column"));
  EXPECT_EQ(mistake.steps[0].attempts, 1);
  EXPECT_EQ(text_at(mistake.steps[0].result.at("cause"), "code"), "H2109");
  EXPECT_EQ(text_at(mistake.steps[0].result.at("error"), "code"), err::kStepFailed.id);
  const PipelineOutcome away =
      run_pipeline(p, program(R"({"code": "H0107", "error": "away", "kind": "transient"})"))
          .value();
  EXPECT_THAT(away.error->text(), HasSubstr("H0107  away"));
  EXPECT_EQ(away.steps[0].attempts, 2);
}

TEST(Links, AreForBrowsersAndShells) {
  EXPECT_EQ(link_to_run("gs://B/runs/", "r", "p"),
            "https://console.cloud.google.com/storage/browser/B/runs/r?project=p");
  EXPECT_EQ(link_to_run("/x", "r", ""), "file:///x/r");
  EXPECT_EQ(folder_of_root("runs/"), "runs");
  EXPECT_THAT(folder_of_root("gs://B/runs"), HasSubstr("/hone/pipelines/"));
}

TEST(Commands, AreFoundBehindTheirLauncher) {
  const std::vector<std::string> launched = {"hone", "launch", "--num_processes", "2",
                                             "--",   "train",  "--task",          "clm"},
                                 alone = {"hone", "train", "--task", "clm"};
  EXPECT_EQ(unlaunched(launched), alone);
  EXPECT_EQ(unlaunched(alone), alone);
  EXPECT_EQ(hone_command(launched), "train");
  EXPECT_EQ(hone_command(alone), "train");
  EXPECT_EQ(hone_command({"hone", "launch", "--dry_run"}), "launch");
  EXPECT_EQ(hone_command({"echo", "train"}), "");
}

}  // namespace
}  // namespace hone
