#include "run/commands/pipeline_plan.h"

#include <algorithm>

#include "base/core/process.h"
#include "base/core/text.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/runner.h"

namespace hone {
namespace {

constexpr double kLongestPlan = 60, kLongestCheck = 30;

}  // namespace

Status check_commands(const Pipeline& pipeline, const std::string& hone_program) {
  for (const PipelineStep& step : pipeline.steps) {
    if (step.command[0] != "hone") continue;
    std::vector<std::string> words;
    for (const std::string& word : step.command)
      words.push_back(
          HONE_TRY(expand_references(word, [](const StepReference& r) -> Result<std::string> {
            return r.kind == StepReference::kResult ? std::string("1") : r.name + "_";
          })));
    words[0] = hone_program;
    // Words after "--" belong to another command.
    words.insert(std::find(words.begin(), words.end(), "--"), "--dump-config");
    const CommandOutput done = HONE_TRY(run_command(words, {.timeout_seconds = kLongestCheck}));
    if (done.status == 0) continue;
    Error e(err::kPipelineFile, fmt::format("the command of step '{}' is refused", step.name));
    for (const std::string& line : lines_of_failure(done.error, done.err)) e.at(line);
    return std::move(e).todo("correct the flag; 'hone " + step.command[1] + " --help' lists them");
  }
  return Ok{};
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

// The command with what its references will be; what a step prints is not known yet.
static std::vector<std::string> exact_command(const PipelineStep& step, const std::string& root) {
  const std::string run = without_end_slash(root) + "/RUN/";
  std::vector<std::string> words;
  for (const std::string& word : step.command) {
    const auto exact = expand_references(word, [&](const StepReference& r) -> Result<std::string> {
      if (r.kind == StepReference::kOut) return run + step.name;
      if (r.kind == StepReference::kFolder) return run + r.name;
      for (const auto& [name, from] : step.inputs)
        if (r.kind == StepReference::kInput && name == r.name) return from;
      return r.text();
    });
    words.push_back(exact.ok() ? *exact : word);
  }
  return words;
}

OrderedJson pipeline_json(const Pipeline& p, const std::string& root,
                          const std::vector<std::string>& plan) {
  OrderedJson steps = OrderedJson::array();
  for (const PipelineStep& s : p.steps) {
    OrderedJson inputs = OrderedJson::object();
    for (const auto& [name, from] : s.inputs) inputs[name] = from;
    steps.push_back({{"name", s.name},
                     {"needs", s.needs},
                     {"when", s.when},
                     {"command", exact_command(s, root)},
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

std::string pipeline_text(const Pipeline& p, const std::string& root,
                          const std::vector<std::string>& plan) {
  std::string text = fmt::format("{:<11} {}: {} steps, in {}\n", "pipeline", p.name, p.steps.size(),
                                 without_end_slash(root) + "/RUN/STEP/");
  for (const auto* lines : {&p.says, &plan})
    for (const std::string& line : *lines) text += line + "\n";
  for (const PipelineStep& s : p.steps) {
    text += "\n" + s.name;
    if (!s.needs.empty()) text += "  after " + join(s.needs, ", ");
    if (!s.when.empty()) text += "  when " + s.when;
    text += "\n  " + command_text(exact_command(s, root)) + "\n";
    for (const auto& [name, from] : s.inputs) text += fmt::format("  input {}: {}\n", name, from);
  }
  return text;
}

}  // namespace hone
