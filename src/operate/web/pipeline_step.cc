#include "operate/web/pipeline_step.h"

#include <filesystem>

#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/check/finding.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/references.h"
#include "operate/pipeline/run_record.h"

namespace hone {
namespace {

constexpr const char* kHidden = "***";  // in the place of a secret
constexpr const char* kAgain = "again";

// The findings of `hone check --json` as it prints them without --json.
std::string findings_text(const OrderedJson& list) {
  Findings findings;
  for (const OrderedJson& one : list) {
    const std::string level = text_at(one, "level");
    findings.add(level == "error"     ? FindingLevel::kError
                 : level == "warning" ? FindingLevel::kWarning
                                      : FindingLevel::kNote,
                 text_at(one, "id"), text_at(one, "what"), text_at(one, "where"),
                 text_at(one, "do"));
  }
  return findings.all().empty() ? "no findings" : findings.text(false);
}

// The first of the folders that exists, as the command names it.
Result<std::string> existing(const StepReference& r, const CommandPlace& place,
                             const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (is_folder(std::filesystem::path(place.from) / folder)) return folder;
  return Error(err::kPipelineFile, fmt::format("the folder of {} does not exist", r.text()));
}

// Not the folder of a finished step: other runs reuse it, and the registry names it.
Result<std::string> output_of(const StepReference& r, const CommandPlace& place,
                              const StepRow& step, ResolvedCommand& command) {
  const std::string folder = place.root + "/" + place.run + "/" + step.name;
  if (step.status != "done") return existing(r, place, {folder + ".part", folder});
  return command.output_folder = fmt::format("{}/{}/{}", kAgain, place.run, step.name);
}

Result<std::string> value_of(const StepReference& r, const CommandPlace& place,
                             const OrderedJson& node, const std::vector<StepRow>& rows) {
  if (r.kind == StepReference::kRun) return place.run;
  if (r.kind == StepReference::kCache) return place.root + "/cache";
  if (r.kind == StepReference::kFolder)
    return existing(r, place, {place.root + "/" + place.run + "/" + r.name});
  if (r.kind == StepReference::kInput) {
    if (std::string from = text_at(value_at(node, "inputs"), r.name.c_str()); !from.empty())
      return from;
  } else {
    for (const StepRow& row : rows)
      if (row.name == r.name)
        if (const OrderedJson* value = member_at(row.result, r.member))
          return value->is_string() ? value->get<std::string>() : dump_json(*value);
  }
  return Error(err::kPipelineFile, fmt::format("{} is not known", r.text()));
}

}  // namespace

CommandPlace place_of_commands(const PipelineRunRow& run, const std::string& root,
                               const OrderedJson& description) {
  namespace fs = std::filesystem;
  CommandPlace place{.run = run.id, .root = root, .from = text_at(description, "folder")};
  if (place.from.empty() || run.folder.empty()) return place;
  std::error_code unknown;
  if (fs::equivalent(fs::path(place.from) / run.folder, root, unknown)) place.root = run.folder;
  return place;
}

ResolvedCommand resolved_command(const CommandPlace& place, const StepRow& step,
                                 const OrderedJson& node, const std::vector<StepRow>& rows) {
  ResolvedCommand command;
  OrderedJson words = OrderedJson::array();
  for (const OrderedJson& word : value_at(node, "command")) {
    if (!word.is_string()) return {};
    Result<std::string> whole =
        expand_references(word.get<std::string>(), [&](const StepReference& r) {
          return r.kind == StepReference::kOut ? output_of(r, place, step, command)
                                               : value_of(r, place, node, rows);
        });
    if (!whole.ok() || whole->find(kHidden) != std::string::npos) return {};
    words.push_back(std::move(*whole));
  }
  if (words.empty() || redact_command(words) != words) return {};
  command.words = std::move(words);
  return command;
}

std::vector<std::string> output_lines(const std::string& output) {
  const Result<OrderedJson> parsed = parse_ordered_json(output, "output");
  if (!parsed.ok() || !parsed->is_object()) return split(output, '\n');
  if (const OrderedJson& list = value_at(*parsed, "findings"); list.is_array())
    return split(findings_text(list), '\n');
  return split(dump_json(*parsed, {.indent = 2}), '\n');
}

}  // namespace hone
