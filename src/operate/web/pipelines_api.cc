// Serves the runs of pipelines in a folder: their steps, results and logs.
#include <algorithm>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/monitor/run_list.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/state.h"
#include "operate/registry/metric_interval.h"
#include "operate/registry/policy.h"
#include "operate/web/api.h"
#include "operate/web/pipeline_step.h"

namespace hone {
namespace {

constexpr int64_t kMostLogTail = 64 << 10, kMostResultBytes = 1 << 20,
                  kMostEvaluationBytes = 64 << 20;
constexpr size_t kMostCounted = 100;  // runs whose steps are counted in the list
constexpr const char *kResultsFile = "all_results.json", *kPolicyFlag = "--policy";

// Folders with a pipeline.db.
void find_roots(const std::filesystem::path& folder, int levels, std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::is_regular_file(folder / "pipeline.db", failed)) roots.push_back(folder.string());
  if (levels == 0) return;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    if (const std::string name = it->path().filename().string();
        !name.starts_with('.') && !it->is_symlink(failed) && it->is_directory(failed))
      find_roots(it->path(), levels - 1, roots);
}

OrderedJson pipeline_run_json(const PipelineRunRow& run, const std::string& root) {
  OrderedJson j = {{"id", run.id},
                   {"pipeline", run.pipeline},
                   {"status", status_of_run(run)},
                   {"begun_s", run.begun_s},
                   {"ended_s", run.ended_s},
                   {"message", run.message},
                   {"root", root}};
  return j;
}

struct FoundPipeline {
  PipelineRunRow run;
  std::string root;
  std::unique_ptr<PipelineState> state;
};

Error no_pipeline_run(const std::string& id, const std::string& folder) {
  return Error(err::kNoPipelineRun, fmt::format("there is no pipeline run '{}'", id)).at(folder);
}

Result<FoundPipeline> find_pipeline(const std::string& id, const std::string& folder) {
  std::vector<std::string> roots;
  find_roots(folder, kSearchedLevels, roots);
  for (const std::string& root : roots) {
    auto state = PipelineState::read(root + "/pipeline.db");
    if (!state.ok()) continue;
    auto run = (*state)->run(id);
    if (run.ok() && *run) return FoundPipeline{std::move(**run), root, std::move(*state)};
  }
  return no_pipeline_run(id, folder);
}

// The file run.json of a run; null if it cannot be read.
OrderedJson description_of(const std::string& root, const std::string& run) {
  const std::string file = root + "/" + run + "/run.json";
  if (!is_regular(file)) return nullptr;
  const Result<std::string> text = file_store().read(file);
  if (!text.ok()) return nullptr;
  Result<OrderedJson> parsed = parse_ordered_json(*text, "run.json");
  return parsed.ok() ? std::move(*parsed) : OrderedJson();
}

// The graph of a run in the order of its steps; empty if it is not known.
OrderedJson graph_of(const OrderedJson& description) {
  const OrderedJson& steps = value_at(description, "steps");
  return steps.is_array() ? steps : OrderedJson::array();
}

OrderedJson node_of(const OrderedJson& graph, const std::string& step) {
  for (const OrderedJson& node : graph)
    if (text_at(node, "name") == step) return node;
  return nullptr;
}

// The steps in the order of the graph; those that were never started are in the graph alone. A running step
// of a lost run is lost.
Result<std::vector<StepRow>> steps_of(PipelineState& state, const PipelineRunRow& run,
                                      const OrderedJson& graph) {
  std::vector<StepRow> known = HONE_TRY(state.steps(run.id)), ordered;
  for (StepRow& row : known) row.status = status_of_step(run, row);
  for (const OrderedJson& node : graph) {
    StepRow row;
    row.run = run.id;
    row.name = text_at(node, "name");
    for (const StepRow& of_state : known)
      if (of_state.name == row.name) row = of_state;
    ordered.push_back(std::move(row));
  }
  for (StepRow& row : known)
    if (node_of(graph, row.name).is_null()) ordered.push_back(std::move(row));
  return ordered;
}

// The metric by which the run decides, from the policy of its command; "" if it has none.
std::string metric_of_policy(const OrderedJson& graph) {
  for (const OrderedJson& node : graph) {
    const OrderedJson& words = value_at(node, "command");
    for (size_t i = 0; words.is_array() && i + 1 < words.size(); ++i)
      if (words[i] == kPolicyFlag && words[i + 1].is_string()) {
        const std::string text = words[i + 1].get<std::string>();
        if (const auto policy = parse_policy(text, kPolicyFlag); policy.ok()) return policy->metric;
      }
  }
  return "";
}

// The numbers that a step found: those that it printed, else those of a training's file.
OrderedJson metrics_of(const StepRow& row, const std::string& folder) {
  OrderedJson all = row.result;
  const std::string file = folder + "/" + kResultsFile;
  if (!all.is_object() && is_regular(file))
    if (const auto bytes = file_store().bytes(file); bytes.ok() && *bytes <= kMostResultBytes)
      if (const auto text = file_store().read(file); text.ok())
        if (auto parsed = parse_ordered_json(*text, kResultsFile); parsed.ok())
          all = std::move(*parsed);
  OrderedJson numbers = OrderedJson::object();
  // A registered version and a decision have numbers of another kind.
  if (all.is_object() && !all.contains("version"))
    for (const auto& [key, value] : all.items())
      if (value.is_number()) numbers[key] = value;
  return numbers;
}

OrderedJson step_json(const StepRow& row, const OrderedJson& node, const std::string& folder) {
  const bool failed = row.status == "failed";
  OrderedJson step = {
      {"name", row.name},       {"status", row.status},   {"attempts", row.attempts},
      {"begun_s", row.begun_s}, {"ended_s", row.ended_s}, {"reused_from", row.reused_from},
      {"message", row.message}, {"hash", row.hash},       {"folder", folder}};
  step["result"] = failed ? OrderedJson() : row.result;
  step["error"] = failed ? value_at(row.result, "error") : OrderedJson();
  step["cause"] = failed ? value_at(row.result, "cause") : OrderedJson();
  if (row.status == "done") step["metrics"] = metrics_of(row, folder);
  step["needs"] = value_at(node, "needs").is_array() ? node.at("needs") : OrderedJson::array();
  step["when"] = text_at(node, "when");
  if (const OrderedJson& command = value_at(node, "command"); command.is_array())
    step["command"] = redact_command(command);
  return step;
}

// The file with what a step printed: its log, or its standard output if it wrote nothing to the log.
std::string file_of_output(const FoundPipeline& found, const std::string& step) {
  const std::string begin = fmt::format("{}/{}/logs/{}", found.root, found.run.id, step);
  const Result<int64_t> bytes = file_store().bytes(begin + ".log");
  return begin + (bytes.ok() && *bytes > 0 ? ".log" : ".out");
}

// The end of what a step printed, whole lines.
Result<WebAnswer> step_log_answer(const FoundPipeline& found, const std::string& step) {
  bool known = false;
  for (const StepRow& row : HONE_TRY(found.state->steps(found.run.id))) known |= row.name == step;
  if (!known)
    return Error(err::kNoPipelineRun,
                 fmt::format("run '{}' has no step '{}' that was started", found.run.id, step))
        .at(found.root)
        .todo("/api/pipelines/" + found.run.id + " lists its steps");
  const std::string log = file_of_output(found, step);
  std::string text;
  if (const Result<int64_t> bytes = file_store().bytes(log);
      bytes.ok() && *bytes > 0 && is_regular(log)) {
    const int64_t from = std::max<int64_t>(0, *bytes - kMostLogTail);
    text = HONE_TRY(file_store().read(log, from, *bytes - from));
    if (from > 0) text.erase(0, text.find('\n') + 1);
  }
  OrderedJson lines = OrderedJson::array();
  for (const std::string& line : output_lines(text)) lines.push_back(line);
  return api_answer({{"step", step}, {"lines", lines}});
}

// Adds the summary of a run's steps that a list shows.
void add_summary(OrderedJson& run, const std::vector<StepRow>& steps) {
  int64_t done = 0;
  OrderedJson skipped = OrderedJson::array();
  for (const StepRow& step : steps) {
    done += step.status == "done" ? 1 : 0;
    if (step.status == "skipped") skipped.push_back(step.name);
    if (step.status == "failed") run["failed_step"] = step.name;
    if (step.status == "running") run["running_step"] = step.name;
    if (const std::string verdict = text_at(step.result, "verdict"); !verdict.empty()) {
      run["verdict"] = verdict;
      run["reason"] = text_at(step.result, "reason");
    }
  }
  run["steps_done"] = done;
  run["skipped_steps"] = std::move(skipped);
  run["steps"] = steps.size();
}

}  // namespace

// The interval of the deciding metric; null where the rows of the evaluation do not give it.
OrderedJson PipelinesApi::interval_of(const std::string& folder, const std::string& hash,
                                      const std::string& metric) {
  const std::string file = folder + "/" + kExamplesFile, key = folder + "\n" + hash + "\n" + metric;
  if (metric.empty() || !is_regular(file)) return nullptr;
  {
    std::lock_guard lock(mutex_);
    if (const auto it = intervals_.find(key); it != intervals_.end()) return it->second;
  }
  OrderedJson interval;
  if (const auto bytes = file_store().bytes(file); bytes.ok() && *bytes <= kMostEvaluationBytes)
    if (const auto rows = read_evaluation(folder); rows.ok())
      if (const auto found = metric_interval(*rows, metric); found.ok()) interval = found->json();
  std::lock_guard lock(mutex_);
  if (intervals_.size() >= kMostKept) intervals_.clear();
  return intervals_[key] = std::move(interval);
}

Result<WebAnswer> PipelinesApi::one(const std::string& id) {
  const FoundPipeline found = HONE_TRY(find_pipeline(id, folder_));
  OrderedJson j = pipeline_run_json(found.run, found.root);
  const OrderedJson description = description_of(found.root, id), graph = graph_of(description);
  const std::string metric = metric_of_policy(graph);
  const CommandPlace place = place_of_commands(found.run, found.root, description);
  const std::vector<StepRow> rows = HONE_TRY(steps_of(*found.state, found.run, graph));
  OrderedJson steps = OrderedJson::array();
  for (const StepRow& row : rows) {
    const std::string folder = fmt::format("{}/{}/{}", found.root, found.run.id, row.name);
    const OrderedJson node = node_of(graph, row.name);
    OrderedJson step = step_json(row, node, folder);
    ResolvedCommand command = resolved_command(place, row, node, rows);
    step["resolved"] = std::move(command.words);
    step["output_folder"] = std::move(command.output_folder);
    if (row.status == "done") step["interval"] = interval_of(folder, row.hash, metric);
    steps.push_back(std::move(step));
  }
  add_summary(j, rows);
  j["metric"] = metric;
  j["folder"] = place.from;
  j["steps"] = std::move(steps);
  return api_answer(j);
}

WebAnswer PipelinesApi::answer(const ApiRequest& request) {
  const auto answer = [&]() -> Result<WebAnswer> {
    if (request.parts.size() > 2) return no_pipeline_run(join(request.parts, "/"), folder_);
    if (!request.parts.empty()) {
      if (request.parts.size() == 1) return one(request.parts[0]);
      return step_log_answer(HONE_TRY(find_pipeline(request.parts[0], folder_)), request.parts[1]);
    }
    std::vector<std::string> roots;
    find_roots(folder_, kSearchedLevels, roots);
    std::vector<OrderedJson> runs;
    for (const std::string& root : roots) {
      const auto state = PipelineState::read(root + "/pipeline.db");
      if (!state.ok()) continue;  // another program's file of this name
      const auto rows = (*state)->runs();
      if (!rows.ok()) continue;
      for (size_t i = 0; i < rows->size(); ++i) {
        runs.push_back(pipeline_run_json((*rows)[i], root));
        if (i < kMostCounted)
          if (const auto steps =
                  steps_of(**state, (*rows)[i], graph_of(description_of(root, (*rows)[i].id)));
              steps.ok())
            add_summary(runs.back(), *steps);
      }
    }
    std::stable_sort(runs.begin(), runs.end(), [](const OrderedJson& a, const OrderedJson& b) {
      return a.at("begun_s").get<double>() > b.at("begun_s").get<double>();
    });
    return api_answer({{"folder", folder_}, {"pipelines", runs}});
  };
  Result<WebAnswer> given = answer();
  return given.ok() ? std::move(*given) : api_failure(given.error());
}

}  // namespace hone
