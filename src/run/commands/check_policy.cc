#include "run/commands/check_policy.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

// The rows must give the metric that compares models: some tasks know only from their labels.
Status check_metric(const Task& task, const RowsReport& rows, const std::string& metric) {
  const std::vector<std::string> names = rows.metrics.empty() ? task.metrics() : rows.metrics;
  if (std::find(names.begin(), names.end(), metric) != names.end()) return Ok{};
  const std::string near = nearest_name(metric, names);
  const bool has_usual = std::find(names.begin(), names.end(), task.metric) != names.end();
  const std::string& usual = has_usual ? task.metric : names[0] == "loss" ? names.back() : names[0];
  return Error(err::kNoScore,
               fmt::format("the evaluation of these rows has no metric '{}'", metric))
      .at("--policy_metric")
      .todo((near.empty() ? std::string() : fmt::format("did you mean {}? ", near)) +
            "decide by one of " + join(names, ", ") +
            fmt::format("; in a pipeline's file: \"policy\": {{\"metric\": \"{}\"}}",
                        near.empty() ? usual : near));
}

// An interval of a few rows says little, and all of them may be of one class.
void tell_few_rows(int64_t rows, Findings& findings) {
  constexpr int64_t kFew = 8;
  if (rows == 0 || rows >= kFew) return;
  findings.add(FindingLevel::kWarning, "few_evaluated_rows",
               fmt::format("versions are compared by an evaluation of {}", count_of(rows, "row")),
               "",
               "give more validation rows, or keep more of the training rows for it by "
               "--validation_split_percentage");
}

}  // namespace

void check_policy(const Task& task, const RowsReport& rows, const std::string& metric,
                  Findings& findings) {
  findings.passed(check_metric(task, rows, metric));
  tell_few_rows(rows.eval.sequences, findings);
}

}  // namespace hone
