#include "run/commands/pipeline_plan.h"

#include <algorithm>

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"
#include "learn/datasets/dataset.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/runner.h"
#include "run/commands/data_paths.h"
#include "run/commands/in_flags.h"
#include "run/commands/slice_columns.h"

namespace hone {
namespace {

constexpr double kLongestPlan = 60, kLongestCheck = 30;

// "news.json:7:5 max_length" of "argument 17: --max_length", if the file gives the flag.
std::string place_in_file(const Pipeline& pipeline, const std::string& where) {
  std::string place = uncounted_argument(where);
  if (!place.starts_with("--")) return place;
  std::string name = place.substr(2, place.find_first_of(" =:", 2) - 2);
  std::replace(name.begin(), name.end(), '-', '_');
  const auto at = pipeline.flag_places.find(name);
  return at == pipeline.flag_places.end() ? place : at->second + " " + place.substr(2);
}

// The error without its advice.
std::optional<Error> in_words_of_file(const Pipeline& pipeline, const std::optional<Error>& error) {
  if (!error) return error;
  Error e(error->error_code(), error->what());
  for (const std::string& where : error->where()) e.at(place_in_file(pipeline, where));
  return e;
}

// `check`: the flag that makes the command check itself and do nothing.
Status check_command(const Pipeline& pipeline, const PipelineStep& step,
                     const std::vector<std::string>& command, const std::string& hone_program,
                     const char* check = "--dump-config") {
  std::vector<std::string> words;
  for (const std::string& word : command)
    words.push_back(
        HONE_TRY(expand_references(word, [&](const StepReference& r) -> Result<std::string> {
          for (const auto& [name, from] : step.inputs)
            if (r.kind == StepReference::kInput && name == r.name) return from;
          return r.kind == StepReference::kResult ? std::string("1") : r.name + "_";
        })));
  words[0] = hone_program;
  // Words after "--" belong to another command.
  words.insert(std::find(words.begin(), words.end(), "--"), check);
  const CommandOutput done = HONE_TRY(run_command(words, {.timeout_seconds = kLongestCheck}));
  if (done.status == 0) return Ok{};
  Error e(err::kPipelineFile, fmt::format("the command of step '{}' is refused", step.name));
  for (const std::string& line : lines_of_failure(in_words_of_file(pipeline, done.error), done.err))
    e.at(line);
  const std::string advice = done.error ? done.error->remedy() : "";
  return std::move(e).todo(
      advice.empty() ? "correct it; 'hone " + command[1] + " --help all' lists the flags" : advice);
}

// A launcher and the command that it starts are checked by themselves.
Status check_step_commands(const Pipeline& pipeline, const PipelineStep& step,
                           const std::string& hone_program) {
  HONE_TRY(check_command(pipeline, step, step.command, hone_program));
  const std::vector<std::string> own = unlaunched(step.command);
  if (own == step.command) return Ok{};
  return check_command(pipeline, step, own, hone_program);
}

Status check_commands(const Pipeline& pipeline, const std::string& hone_program) {
  // hone check takes the flags of hone train, which are better refused by hone train.
  for (const bool checks : {false, true})
    for (const PipelineStep& step : pipeline.steps)
      if (step.command.size() > 1 && step.command[0] == "hone" &&
          checks == (step.command[1] == "check"))
        HONE_TRY(check_step_commands(pipeline, step, hone_program));
  return Ok{};
}

Status check_endpoints(const Pipeline& pipeline, const std::string& hone_program) {
  for (const PipelineStep& step : pipeline.steps)
    if (step.command.size() > 1 && step.command[0] == "hone" && step.command[1] == "deploy")
      HONE_TRY(check_command(pipeline, step, step.command, hone_program, "--check"));
  return Ok{};
}

Status check_data(const Pipeline& p) {
  if (is_url(p.dataset)) return Ok{};
  if (!HONE_TRY(file_store().exists(p.dataset))) {
    if (!names_data_file(p.dataset)) return Ok{};  // the hub's
    Status missing = check_data_files(std::vector{p.dataset});
    return missing.ok() ? std::move(missing) : std::move(missing.error()).at(p.dataset_place);
  }
  if (p.columns.empty()) return Ok{};
  Dataset data = HONE_TRY(Dataset::open({.name = p.dataset, .config = p.dataset_subset}));
  const std::string evaluated = data.has("validation") ? "validation" : "train";
  for (const std::string& split : data.splits()) {
    if (split != "train" && split != "validation") continue;
    const auto files = HONE_TRY(data.files(split));
    if (files.empty()) continue;
    const auto reader = HONE_TRY(open_rows({files[0]}));
    for (const PipelineColumn& column : p.columns)
      if (split == evaluated || !column.only_evaluated)
        if (Status found = find_columns(*reader, {column.name}); !found.ok())
          return std::move(found.error()).at(column.place);
  }
  return Ok{};
}

}  // namespace

Status check_pipeline(const Pipeline& pipeline, const std::string& hone_program,
                      bool asks_servers) {
  HONE_TRY(check_data(pipeline));
  HONE_TRY(check_commands(pipeline, hone_program));
  return asks_servers ? check_endpoints(pipeline, hone_program) : Ok{};
}

std::vector<std::string> planned_lines(const Pipeline& pipeline, const std::string& hone_program) {
  if (pipeline.plan.empty()) return {};
  std::vector<std::string> words = pipeline.plan;
  const auto device = std::find(words.begin(), words.end(), "--device");
  const std::string name = device == words.end() ? "" : *(device + 1);
  words[0] = hone_program;
  words.push_back("--json");
  const auto not_planned = [&](const std::string& why) {
    return std::vector{fmt::format("{:<11} {} is not planned: {}", "plan", name, why)};
  };
  const auto done = run_command(words, {.timeout_seconds = kLongestPlan});
  if (!done.ok()) return not_planned(done.error().what());
  const std::vector<std::string> said = lines_of_failure(done->error, done->err);
  const auto j = parse_ordered_json(done->out, "plan");
  if (done->timed_out) return not_planned("hone plan took too long");
  if (!j.ok() || !j->is_object() || !j->contains("peak_bytes"))
    return not_planned(said.empty() ? "hone plan gave no answer" : said[0]);
  const auto bytes = [&](const OrderedJson& from, const char* key) {
    return from.contains(key) && from.at(key).is_number()
               ? format_bytes(from.at(key).get<int64_t>())
               : std::string("?");
  };
  std::string line = fmt::format("{:<11} one step on {} takes {} of {} on a device", "plan", name,
                                 bytes(j->at("peak_bytes"), "device"), bytes(*j, "memory_bytes"));
  if (j->contains("seconds_per_step") && j->at("seconds_per_step").is_number())
    line += fmt::format(", {:.3g} s a step", j->at("seconds_per_step").get<double>());
  if (j->contains("fits") && j->at("fits") == false) line += "; it does not fit";
  return {line};
}

OrderedJson pipeline_json(const Pipeline& p, const std::string& root, const ScriptPlace& place,
                          const std::vector<std::string>& plan) {
  OrderedJson steps = OrderedJson::array();
  for (const PipelineStep& s : p.steps) {
    OrderedJson inputs = OrderedJson::object();
    for (const auto& [name, from] : s.inputs) inputs[name] = from;
    steps.push_back({{"name", s.name},
                     {"needs", s.needs},
                     {"when", s.when},
                     {"command", exact_command(s, place)},
                     {"inputs", inputs},
                     {"retries", s.retries},
                     {"timeout_s", s.timeout_s},
                     {"reuse", s.reuse},
                     {"continues", s.continues}});
  }
  return {{"pipeline", p.name},
          {"pipeline_root", root},
          {"says", p.says},
          {"plan", plan},
          {"steps", steps}};
}

std::string dry_run_text(const Pipeline& p, const std::string& root, const ScriptPlace& place,
                         const std::vector<std::string>& plan) {
  std::vector<std::string> notes = {
      fmt::format("{}: {} steps, as lines for sh -e. hone pipeline run does the same in "
                  "{}/RUN/STEP/, and continues after a kill.",
                  p.name, p.steps.size(), without_end_slash(root))};
  notes.insert(notes.end(), p.says.begin(), p.says.end());
  notes.insert(notes.end(), plan.begin(), plan.end());
  return pipeline_script(p, place, notes);
}

}  // namespace hone
