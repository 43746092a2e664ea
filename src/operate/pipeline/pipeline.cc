#include "operate/pipeline/pipeline.h"

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "base/settings/value.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

constexpr size_t kLongestName = 48;  // with the run's name a label of Kubernetes, 63 letters

bool name_is_good(const std::string& name) {
  if (name.empty() || name.size() > kLongestName || name[0] == '-' || name.back() == '-')
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Error in_step(const std::string& where, const std::string& step, Error error) {
  return std::move(error).at(fmt::format("{}, step '{}'", where, step));
}

Status check_step(const Pipeline& pipeline, PipelineStep& step) {
  if (step.command.empty())
    return Error(err::kPipelineFile, "the step runs nothing").todo("give it a line 'run: COMMAND'");
  std::set<std::string> needs(step.after.begin(), step.after.end());
  const auto take = [&](const StepReference& r) -> Status {
    if (r.kind == StepReference::kInput) {
      std::vector<std::string> names;
      for (const auto& [name, place] : step.inputs) names.push_back(name);
      if (std::find(names.begin(), names.end(), r.name) != names.end()) return Ok{};
      const std::string near = nearest_name(r.name, names);
      return Error(err::kPipelineFile, fmt::format("{}: the step has no such input", r.text()))
          .todo(near.empty() ? "name it under 'inputs'" : fmt::format("did you mean {}?", near));
    }
    if (r.kind == StepReference::kFolder || r.kind == StepReference::kResult) needs.insert(r.name);
    return Ok{};
  };
  for (const std::string& word : step.command)
    for (const StepReference& r : HONE_TRY(references_of(word))) HONE_TRY(take(r));
  for (const auto& [name, place] : step.inputs)
    if (!HONE_TRY(references_of(place)).empty())
      return Error(err::kPipelineFile, fmt::format("input '{}' refers to a step", name))
          .todo("refer to ${steps.NAME} in the command; inputs are files and URLs");
  if (!step.when.empty()) HONE_TRY(take(HONE_TRY(parse_condition(step.when)).left));
  std::vector<std::string> names;
  for (const PipelineStep& s : pipeline.steps) names.push_back(s.name);
  for (const std::string& need : needs) {
    if (pipeline.find(need) != nullptr && need != step.name) continue;
    const std::string near = nearest_name(need, names);
    return Error(err::kPipelineFile, need == step.name ? std::string("the step waits for itself")
                                                       : fmt::format("there is no step '{}'", need))
        .todo(need == step.name ? "its own folder is ${out}"
              : near.empty()    ? "the steps are " + join(names, ", ")
                                : fmt::format("did you mean {}?", near));
  }
  step.needs.assign(needs.begin(), needs.end());
  return Ok{};
}

}  // namespace

const PipelineStep* Pipeline::find(const std::string& step) const {
  for (const PipelineStep& s : steps)
    if (s.name == step) return &s;
  return nullptr;
}

Status check_pipeline(Pipeline& pipeline, const std::string& where) {
  if (!name_is_good(pipeline.name))
    return Error(err::kPipelineFile,
                 fmt::format("'{}' cannot be the name of a pipeline", pipeline.name))
        .at(where)
        .todo("use letters, digits and '-', at most 48");
  if (pipeline.steps.empty())
    return Error(err::kPipelineFile, "the pipeline has no steps").at(where);
  std::set<std::string> names;
  for (PipelineStep& step : pipeline.steps) {
    if (!name_is_good(step.name) || step.name == "logs")
      return Error(err::kPipelineFile, fmt::format("'{}' cannot be the name of a step", step.name))
          .at(where)
          .todo("use letters, digits and '-', at most 48; 'logs' is taken");
    if (!names.insert(step.name).second)
      return Error(err::kPipelineFile, fmt::format("two steps are named '{}'", step.name))
          .at(where)
          .todo("give one of them another name");
  }
  for (PipelineStep& step : pipeline.steps)
    if (Status s = check_step(pipeline, step); !s.ok())
      return in_step(where, step.name, std::move(s.error()));
  // Each step after those that it needs, otherwise in the order of the file.
  std::vector<PipelineStep> sorted;
  std::set<std::string> placed;
  while (sorted.size() < pipeline.steps.size()) {
    const size_t before = sorted.size();
    for (const PipelineStep& step : pipeline.steps)
      if (!placed.contains(step.name) &&
          std::all_of(step.needs.begin(), step.needs.end(),
                      [&](const std::string& n) { return placed.contains(n); })) {
        placed.insert(step.name);
        sorted.push_back(step);
        break;
      }
    if (sorted.size() > before) continue;
    std::vector<std::string> left;
    for (const PipelineStep& step : pipeline.steps)
      if (!placed.contains(step.name)) left.push_back(step.name);
    return Error(err::kPipelineFile,
                 fmt::format("these steps wait for each other: {}", join(left, ", ")))
        .at(where)
        .todo("remove one of their references");
  }
  pipeline.steps = std::move(sorted);
  return Ok{};
}

Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"' || c == '\'') {
      const size_t end = line.find(c, at + 1);
      if (end == std::string_view::npos)
        return Error(err::kPipelineFile, fmt::format("a {} has no second one", c))
            .todo("close it, or write the command as a list");
      word += line.substr(at + 1, end - at - 1);
      at = end;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

std::vector<std::string> unlaunched(std::vector<std::string> command) {
  if (command.size() < 2 || command[0] != "hone" || command[1] != "launch") return command;
  const auto end = std::find(command.begin(), command.end(), "--");
  if (end == command.end() || end + 1 == command.end()) return command;
  command.erase(command.begin() + 1, end + 1);
  return command;
}

std::string hone_command(const std::vector<std::string>& command) {
  const std::vector<std::string> own = unlaunched(command);
  return own.size() > 1 && own[0] == "hone" ? own[1] : "";
}

double parse_duration(const std::string& text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string unit = end == std::string::npos ? "" : text.substr(end);
  double scale = -1;
  for (const auto& [name, seconds] :
       {std::pair("", 1.0), {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}})
    if (unit == name) scale = seconds;
  double value = 0;
  const std::string digits = text.substr(0, end);
  if (scale < 0 || digits.empty() || !assign(Field(&value), digits)) return -1;
  return value * scale <= 1e9 ? value * scale : -1;
}

Error unknown_key(const std::string& key, const std::vector<std::string>& known,
                  const std::string& place) {
  const std::string near = nearest_name(key, known);
  std::vector<std::string> sorted = known;
  std::sort(sorted.begin(), sorted.end());
  return Error(err::kPipelineKey, fmt::format("there is no key '{}' here", key))
      .at(place)
      .todo(near.empty() ? "the keys are " + join(sorted, ", ")
                         : fmt::format("did you mean {}?", near));
}

}  // namespace hone
