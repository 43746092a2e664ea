// Serves the runs of pipelines in a folder: their steps, results and logs.
#include <algorithm>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/state.h"
#include "operate/web/api.h"

namespace hone {
namespace {

constexpr int kMostFolders = 3;  // levels below the folder
constexpr int64_t kMostLogTail = 64 << 10;

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

std::string status_of_run(const PipelineRunRow& run) {
  const bool gone = run.pid == 0 || start_of_process(run.pid) != run.pid_start;
  return run.status == "running" && gone ? "lost" : run.status;
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
  find_roots(folder, kMostFolders, roots);
  for (const std::string& root : roots) {
    auto state = PipelineState::read(root + "/pipeline.db");
    if (!state.ok()) continue;
    auto run = (*state)->run(id);
    if (run.ok() && *run) return FoundPipeline{std::move(**run), root, std::move(*state)};
  }
  return no_pipeline_run(id, folder);
}

Result<WebAnswer> pipeline_answer(const FoundPipeline& found) {
  OrderedJson j = pipeline_run_json(found.run, found.root);
  const std::string file = found.root + "/" + found.run.id + "/run.json";
  const Result<std::string> described =
      is_regular(file) ? file_store().read(file) : Result<std::string>(std::string());
  OrderedJson graph = OrderedJson::array();
  if (described.ok())
    if (const Result<OrderedJson> parsed = parse_ordered_json(*described, "run.json");
        parsed.ok() && parsed->is_object() && parsed->contains("steps") &&
        parsed->at("steps").is_array())
      graph = parsed->at("steps");
  // In the order of the graph; the state knows none.
  std::vector<StepRow> rows = HONE_TRY(found.state->steps(found.run.id));
  const auto place = [&](const StepRow& row) {
    size_t at = 0;
    while (at < graph.size() && text_at(graph[at], "name") != row.name) ++at;
    return at;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const StepRow& a, const StepRow& b) { return place(a) < place(b); });
  OrderedJson steps = OrderedJson::array();
  for (const StepRow& row : rows) {
    OrderedJson step = {
        {"name", row.name},       {"status", row.status},   {"attempts", row.attempts},
        {"begun_s", row.begun_s}, {"ended_s", row.ended_s}, {"reused_from", row.reused_from},
        {"message", row.message}, {"hash", row.hash},       {"result", row.result}};
    if (const size_t at = place(row); at < graph.size()) {
      const OrderedJson& node = graph[at];
      step["needs"] = node.value("needs", OrderedJson::array());
      step["when"] = text_at(node, "when");
      step["command"] = redact_command(node.value("command", OrderedJson::array()));
    }
    steps.push_back(std::move(step));
  }
  j["steps"] = steps;
  return api_answer(j);
}

// The end of what a step printed, whole lines.
Result<WebAnswer> step_log_answer(const FoundPipeline& found, const std::string& step) {
  bool known = false;
  for (const StepRow& row : HONE_TRY(found.state->steps(found.run.id))) known |= row.name == step;
  if (!known) return no_pipeline_run(found.run.id + "/" + step, found.root);
  const std::string log = fmt::format("{}/{}/logs/{}.log", found.root, found.run.id, step);
  std::string text;
  if (const Result<int64_t> bytes = file_store().bytes(log);
      bytes.ok() && *bytes > 0 && is_regular(log)) {
    const int64_t from = std::max<int64_t>(0, *bytes - kMostLogTail);
    text = HONE_TRY(file_store().read(log, from, *bytes - from));
    if (from > 0) text.erase(0, text.find('\n') + 1);
  }
  OrderedJson lines = OrderedJson::array();
  for (const std::string& line : split(text, '\n')) lines.push_back(line);
  return api_answer({{"step", step}, {"lines", lines}});
}

}  // namespace

WebAnswer PipelinesApi::answer(const ApiRequest& request) {
  const auto answer = [&]() -> Result<WebAnswer> {
    if (request.parts.size() > 2) return no_pipeline_run(join(request.parts, "/"), folder_);
    if (!request.parts.empty()) {
      const FoundPipeline found = HONE_TRY(find_pipeline(request.parts[0], folder_));
      return request.parts.size() == 1 ? pipeline_answer(found)
                                       : step_log_answer(found, request.parts[1]);
    }
    std::vector<std::string> roots;
    find_roots(folder_, kMostFolders, roots);
    std::vector<OrderedJson> runs;
    for (const std::string& root : roots) {
      const auto state = PipelineState::read(root + "/pipeline.db");
      if (!state.ok()) continue;  // another program's file of this name
      const auto rows = (*state)->runs();
      if (!rows.ok()) continue;
      for (const PipelineRunRow& run : *rows) runs.push_back(pipeline_run_json(run, root));
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
