#include "run/commands/shown_steps.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/pipeline.h"
#include "operate/registry/decide.h"
#include "run/commands/step_results.h"

namespace hone {
namespace {

// The graph of a run; empty if it cannot be read.
OrderedJson steps_in_graph(const std::string& run_folder) {
  const Result<std::string> text = file_store().read(run_folder + "/run.json");
  if (!text.ok()) return {};
  const Result<OrderedJson> whole = parse_ordered_json(*text, "run.json");
  return whole.ok() ? value_at(*whole, "steps") : OrderedJson();
}

}  // namespace

ShownSteps::ShownSteps(std::vector<StepRow> rows, std::string run_folder)
    : rows_(std::move(rows)), folder_(std::move(run_folder)), graph_(steps_in_graph(folder_)) {
  std::ranges::sort(
      rows_, {}, [&](const StepRow& step) { return std::pair(place_of(step.name), step.begun_s); });
}

std::string ShownSteps::result(const StepRow& step) const {
  if (!step.message.empty()) return step.message;
  std::string text = text_at(step.result, "verdict");
  if (const std::string reason = text_at(step.result, "reason"); !text.empty() && !reason.empty())
    text += ": " + reason;
  for (const std::string& line : worse_slices(value_at(step.result, "evidence")))
    text += "; " + line;
  if (const std::string url = text_at(step.result, "url"); !url.empty()) text = url;
  if (text.empty() && step.status == "done") text = found_by(step);
  if (step.reused_from.empty()) return text;
  return (text.empty() ? "" : text + "; ") + "taken from " + step.reused_from;
}

std::string ShownSteps::short_result(const StepRow& step) const {
  std::string text = result(step);
  if (step.status != "skipped") return text;
  for (const StepRow& other : rows_)
    if (const std::string reason = text_at(other.result, "reason");
        !reason.empty() && text.ends_with(": " + reason))
      text.resize(text.size() - reason.size() - 2);
  return text;
}

size_t ShownSteps::place_of(const std::string& step) const {
  size_t place = 0;
  while (place < graph_.size() && text_at(graph_[place], "name") != step) ++place;
  return place;
}

// The first line that the run printed below the step.
std::string ShownSteps::found_by(const StepRow& step) const {
  const size_t place = place_of(step.name);
  if (place >= graph_.size()) return "";
  PipelineStep of_graph;
  of_graph.name = step.name;
  for (const OrderedJson& word : value_at(graph_[place], "command"))
    if (word.is_string()) of_graph.command.push_back(word.get<std::string>());
  const std::vector<std::string> lines =
      step_results({}, of_graph, step, folder_ + "/" + step.name);
  if (lines.empty()) return "";
  return lines[0] + (lines.size() > 1 ? fmt::format("; and {} more", lines.size() - 1) : "");
}

}  // namespace hone
