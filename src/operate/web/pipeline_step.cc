#include "operate/web/pipeline_step.h"

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

// The first of the folders that exists: a step's has another name while its command runs.
Result<std::string> existing(const StepReference& r, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (is_folder(folder)) return folder;
  return Error(err::kPipelineFile, fmt::format("the folder of {} does not exist", r.text()));
}

Result<std::string> value_of(const StepReference& r, const std::string& step,
                             const std::string& root, const std::string& run,
                             const OrderedJson& node, const std::vector<StepRow>& rows) {
  const std::string folder = root + "/" + run + "/";
  if (r.kind == StepReference::kOut) return existing(r, {folder + step + ".part", folder + step});
  if (r.kind == StepReference::kRun) return run;
  if (r.kind == StepReference::kCache) return root + "/cache";
  if (r.kind == StepReference::kFolder) return existing(r, {folder + r.name});
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

OrderedJson resolved_command(const std::string& root, const std::string& run,
                             const OrderedJson& node, const std::vector<StepRow>& rows) {
  OrderedJson words = OrderedJson::array();
  for (const OrderedJson& word : value_at(node, "command")) {
    if (!word.is_string()) return nullptr;
    Result<std::string> whole =
        expand_references(word.get<std::string>(), [&](const StepReference& r) {
          return value_of(r, text_at(node, "name"), root, run, node, rows);
        });
    if (!whole.ok() || whole->find(kHidden) != std::string::npos) return nullptr;
    words.push_back(std::move(*whole));
  }
  return words.empty() ? OrderedJson() : redact_command(words) == words ? words : OrderedJson();
}

std::vector<std::string> output_lines(const std::string& output) {
  const Result<OrderedJson> parsed = parse_ordered_json(output, "output");
  if (!parsed.ok() || !parsed->is_object()) return split(output, '\n');
  if (const OrderedJson& list = value_at(*parsed, "findings"); list.is_array())
    return split(findings_text(list), '\n');
  return split(dump_json(*parsed, {.indent = 2}), '\n');
}

}  // namespace hone
