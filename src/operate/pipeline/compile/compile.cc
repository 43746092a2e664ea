#include "operate/pipeline/compile/compile.h"

#include <cstdlib>
#include <functional>
#include <set>

#include "base/core/text.h"
#include "base/core/url.h"
#include "operate/pipeline/compile/errors.h"

namespace hone {

std::vector<std::string> pipeline_engine_names() {
  std::vector<std::string> names;
  for (const PipelineEngine& engine : all_pipeline_engine()) names.push_back(engine.name);
  return names;
}

Result<CompiledPipeline> compile_pipeline(const std::string& engine, const Pipeline& pipeline,
                                          const CompileOptions& options) {
  Pipeline compiled = pipeline;
  std::vector<std::string> notes;
  for (PipelineStep& step : compiled.steps) {
    if (!compile::starts_ranks_elsewhere(step)) continue;
    step.command = unlaunched(std::move(step.command));
    notes.push_back(
        fmt::format("step '{}' starts ranks by hone launch: here one process does it", step.name));
  }
  for (const PipelineEngine& e : all_pipeline_engine()) {
    if (e.name != engine) continue;
    CompiledPipeline made = HONE_TRY(e.compile(compiled, options));
    made.notes.insert(made.notes.begin(), notes.begin(), notes.end());
    return made;
  }
  HONE_BUG_IF(true, "no engine '{}'", engine);
}

namespace compile {
namespace {

template <class Visit>
void each_reference(const PipelineStep& step, const Visit& visit) {
  for (const std::string& word : step.command) {
    const std::vector<StepReference> found = references_of(word).value();
    for (const StepReference& r : found) visit(r, false);
  }
  if (step.when.empty()) return;
  const StepCondition c = parse_condition(step.when).value();
  visit(c.left, c.op.find_first_of("<>") != std::string::npos);
}

// A URL, or a name of the hub; not a path of this machine.
bool is_elsewhere(const std::string& place) {
  return is_url(place) && !place.starts_with("file://");
}

}  // namespace

std::vector<std::pair<std::string, bool>> results_of(const Pipeline& pipeline,
                                                     const std::string& step) {
  std::map<std::string, bool> members;
  for (const PipelineStep& s : pipeline.steps)
    each_reference(s, [&](const StepReference& r, bool number) {
      if (r.kind == StepReference::kResult && r.name == step) members[r.member] |= number;
    });
  return {members.begin(), members.end()};
}

Reads reads_of(const PipelineStep& step) {
  Reads read;
  std::set<std::string> folders;
  std::set<std::pair<std::string, std::string>> results;
  each_reference(step, [&](const StepReference& r, bool) {
    if (r.kind == StepReference::kOut) read.out = true;
    if (r.kind == StepReference::kFolder) folders.insert(r.name);
    if (r.kind == StepReference::kResult) results.emplace(r.name, r.member);
  });
  read.folders.assign(folders.begin(), folders.end());
  read.results.assign(results.begin(), results.end());
  return read;
}

Result<std::vector<std::string>> container_command(
    const Pipeline& pipeline, const PipelineStep& step, const CompileOptions& options,
    const std::function<std::string(const StepReference&)>& meaning,
    const std::function<std::string(const std::string&)>& result_file) {
  std::vector<std::string> words;
  if (const auto members = results_of(pipeline, step.name); !members.empty()) {
    words = {"hone", "pipeline", "exec"};
    if (reads_of(step).out)
      for (const std::string& word : {std::string("--folder"), meaning(StepReference{})})
        words.push_back(word);
    words.push_back("--write");
    for (const auto& [member, number] : members) {
      if (member.find('.') != std::string::npos)
        return Error(err::kCannotCompile, fmt::format("'{}' is a member within a member", member))
            .at(fmt::format("step '{}'", step.name))
            .todo("let the step print it at the top of its JSON object");
      words.push_back(member + "=" + result_file(member));
    }
    words.push_back("--");
  }
  for (const std::string& word : step.command) {
    if (word.find("${cache}") != std::string::npos) {  // containers share none
      if (!words.empty() && words.back().starts_with("--")) words.pop_back();
      continue;
    }
    words.push_back(
        HONE_TRY(expand_references(word, [&](const StepReference& r) -> Result<std::string> {
          if (r.kind != StepReference::kInput) return meaning(r);
          for (const auto& [name, place] : step.inputs) {
            if (name != r.name) continue;
            if (is_elsewhere(place)) return place;
            return Error(err::kCannotCompile, fmt::format("'{}' is a path of this machine", place))
                .at(fmt::format("step '{}', input '{}'", step.name, name))
                .todo("copy it to a bucket with 'hone store cp -r' and name it by its URL");
          }
          return r.text();
        })));
  }
  const bool of_registry = step.command.size() > 1 && step.command[0] == "hone" &&
                           (step.command[1] == "models" || step.command[1] == "deploy");
  if (!of_registry) return words;
  if (options.registry.empty())
    return Error(err::kCannotCompile, "each container would have a registry of its own")
        .at(fmt::format("step '{}'", step.name))
        .todo(
            "name one that all reach: --registry postgresql://user@host/name, or a path on a "
            "shared "
            "volume");
  words.push_back("--registry");
  words.push_back(options.registry);
  return words;
}

MachineSize machine_size(const std::string& type) {
  const std::vector<std::string> parts = split(type, '-');
  if (parts.size() != 3) return {};
  const double n = std::atof(parts[2].c_str());
  if (n <= 0) return {};
  const std::string family = parts[0] + "-" + parts[1];
  if (family == "a2-megagpu") return {96, 1360};
  if (family == "a3-highgpu" || family == "a3-megagpu") return {n * 26, n * 234};
  if (family == "a2-highgpu") return {n * 12, n * 85};
  if (family == "a2-ultragpu") return {n * 12, n * 170};
  const bool first = parts[0] == "n1";
  if (parts[1] == "standard") return {n, n * (first ? 3.75 : 4)};
  if (parts[1] == "highmem") return {n, n * (first ? 6.5 : 8)};
  return {};
}

OrderedJson variables_of(const std::map<std::string, std::string>& environment) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [name, value] : environment) list.push_back({{"name", name}, {"value", value}});
  return list;
}

bool starts_ranks_elsewhere(const PipelineStep& step) {
  if (unlaunched(step.command) == step.command) return false;
  const auto names = [&](const char* flag) {
    return std::find(step.command.begin(), step.command.end(), flag) != step.command.end();
  };
  return step.machine.node_count > 1 || names("--num_machines") || names("--hostfile");
}

bool deploys(const PipelineStep& step) {
  return step.command.size() > 1 && step.command[0] == "hone" && step.command[1] == "deploy";
}

std::vector<std::string> serve_flags(const PipelineStep& step) {
  std::vector<std::string> words;
  const auto& c = step.command;
  auto at = std::find(c.begin(), c.end(), "--serve_flags");
  while (at != c.end() && ++at != c.end() && !at->starts_with("--")) {
    const size_t is = at->find('=');
    words.push_back("--" + at->substr(0, is));
    if (is != std::string::npos) words.push_back(at->substr(is + 1));
  }
  return words;
}

std::string identifier(const std::string& name) {
  std::string id;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    id += good ? c : '_';
  }
  return id;
}

}  // namespace compile
}  // namespace hone
