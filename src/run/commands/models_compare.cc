#include "run/commands/models_compare.h"

#include <algorithm>
#include <set>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/settings/value.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/policy.h"
#include "operate/registry/run_names.h"
#include "run/commands/command.h"
#include "run/commands/lineage.h"
#include "run/commands/metric_columns.h"
#include "run/commands/models_decide.h"

namespace hone {
namespace {

struct ComparedLine {
  std::string what, a, b, difference;
};

// A version with its run; an empty one if the registry has none.
struct ComparedVersion {
  ModelVersion version;
  RegisteredRun run;
  std::vector<Decision> decisions;  // of its model, the newest first
};
Result<ComparedVersion> compared_version(Registry& registry, const std::string& reference) {
  ComparedVersion c;
  c.version = HONE_TRY(resolve_model(registry, reference));
  c.decisions = HONE_TRY(registry.decisions(c.version.model));
  c.version.metrics = metrics_with_decisions(c.version, c.decisions);
  c.run = HONE_TRY(run_of_version(registry, c.version));
  return c;
}

std::string signed_text(double value) { return (value > 0 ? "+" : "") + metric_text(value); }

// Times and memory of a run, which say nothing of its model: tables that are not `whole` leave them out.
bool is_cost(const std::string& metric) {
  return metric.starts_with("memory_") || metric == "total_flos" ||
         metric.find("_runtime") != std::string::npos ||
         metric.find("_per_second") != std::string::npos ||
         metric.find("_seconds") != std::string::npos || metric.ends_with("_step_s");
}

// The metrics of both, the one that decides first; the better value has a mark, if they are of the same rows.
std::vector<ComparedLine> metric_lines(const VersionDifference& d, const std::string& first,
                                       bool whole) {
  std::vector<ComparedLine> lines;
  for (const auto& [key, values] : d.metrics.items()) {
    if (!whole && is_cost(key)) continue;
    const bool numbers = values[0].is_number() && values[1].is_number();
    const bool same_rows = is_cost(key) || d.is_of_same_rows(key);
    const auto text = [&](const OrderedJson& value) {
      if (value.is_null()) return std::string();
      return whole || !value.is_number() ? dump_json(value) : metric_text(value.get<double>());
    };
    ComparedLine line{key, text(values[0]), text(values[1]),
                      numbers && same_rows ? signed_text(values[2].get<double>()) : ""};
    const bool lower = lower_is_better(bare_metric(key));
    const bool judged = numbers && same_rows && (key == first || lower);
    const double x = judged ? values[0].get<double>() : 0, y = judged ? values[1].get<double>() : 0;
    if (!whole) {
      line.a += x != y && (x < y) == lower ? "*" : " ";
      line.b += x != y && (y < x) == lower ? "*" : " ";
    }
    lines.insert(key == first ? lines.begin() : lines.end(), std::move(line));
  }
  return lines;
}

// Texts that a column would cut to the same text begin shortly before their first difference.
void show_difference(std::string& a, std::string& b, int width) {
  constexpr size_t kBefore = 4;
  if (a == b || without_middle(a, width) != without_middle(b, width)) return;
  size_t at = 0;
  while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
  at -= std::min(at, kBefore);
  const auto continues = [&](unsigned char c) { return (c & 0xC0U) == 0x80U; };
  while (at > 0 && continues(a[at])) --at;
  if (at == 0) return;
  a = "…" + a.substr(at);
  b = "…" + b.substr(at);
}

// The origin of both, and the settings of their runs, where they differ.
std::vector<ComparedLine> setting_lines(const ComparedVersion& a, const ComparedVersion& b,
                                        const VersionDifference& d, bool whole) {
  std::vector<ComparedLine> lines;
  const auto add = [&](const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) lines.push_back({what, x, y, ""});
  };
  add("learning rate", learning_rate_of(a.run.params), learning_rate_of(b.run.params));
  add("parent", a.version.parent, b.version.parent);
  add("data", data_of(a.run), data_of(b.run));
  add("data hash", a.version.data_hash, b.version.data_hash);
  const auto text = [&](const RegisteredRun& run, const OrderedJson& value) {
    return value.is_number() ? value_text(value) : dump_json(whole ? value : by_name(run, value));
  };
  const std::set<std::string> places = whole ? std::set<std::string>{} : output_settings(d.a.task);
  for (const auto& [key, values] : d.settings.items())
    if (key != "learning_rate" && !places.contains(key))
      add("--" + key, text(a.run, values[0]), text(b.run, values[1]));
  add("hash", a.version.hash, b.version.hash);
  return lines;
}

// Tells why nothing has a mark, and what to do; "": the metrics are of the same rows.
std::string rows_text(const VersionDifference& d, const std::string& metric) {
  if (d.rows.empty()) return "";
  std::string advice;
  for (const ModelVersion* v : {&d.a, &d.b})
    if (v->evaluation.empty())
      advice += fmt::format("{} {}: {}", advice.empty() ? ". To save the rows of" : "; of",
                            v->reference(), commands_for_rows(*v));
  if (d.rows_unknown) return d.rows_note() + advice;
  return fmt::format(
      "{}{}. To compare the versions on the same rows: hone models decide {} --policy {}",
      d.rows_note(), advice, shell_word(d.b.reference()),
      metric.empty() ? "FILE.json"
                     : shell_word(dump_json(OrderedJson{{"metric", bare_metric(metric)}})));
}

}  // namespace

Result<int> compare_models(Registry& registry, const std::string& reference,
                           const std::string& against, const Shown& how) {
  const ComparedVersion a = HONE_TRY(compared_version(registry, reference)),
                        b = HONE_TRY(compared_version(registry, against));
  const VersionDifference d = HONE_TRY(compare_versions(registry, a.version, b.version));
  if (how.json) {
    print_json(d.json());
    return kExitDone;
  }
  const auto first =
      deciding_metric(a.version.metrics, a.version.task, a.run.params, decided_by(a.decisions));
  const bool text = how.form.format == "text";
  const auto metrics = metric_lines(d, first ? first->name : "", !text || how.form.wide);
  const auto settings = setting_lines(a, b, d, !text || how.form.wide);
  const std::string name_a = a.version.reference(), name_b = b.version.reference();
  TextTable numbers({{.name = text ? "metric" : "what"},
                     {.name = name_a, .kind = Column::kNumber},
                     {.name = name_b, .kind = Column::kNumber},
                     {.name = "difference", .kind = Column::kNumber, .priority = 1}});
  TextTable texts({{.name = "setting"},
                   {.name = name_a, .kind = Column::kName},
                   {.name = name_b, .kind = Column::kName}});
  for (const ComparedLine& l : metrics) numbers.add({l.what, l.a, l.b, l.difference});
  constexpr int kShownName = 20;  // columns that most texts have at least in a table of 80
  for (const ComparedLine& l : settings) {
    if (!text)
      numbers.add({l.what, l.a, l.b, l.difference});
    else if (how.form.wide)
      texts.add({l.what, l.a, l.b});
    else {
      std::string x = short_hash(l.a), y = short_hash(l.b);
      show_difference(x, y, kShownName);
      texts.add({l.what, x, y});
    }
  }
  print_tables({numbers, texts}, how.form);
  const auto has_mark = [](const ComparedLine& l) {
    return l.a.ends_with('*') || l.b.ends_with('*');
  };
  if (text && std::ranges::any_of(metrics, has_mark)) log_info("{:<11} {}", "best", kMarkNote);
  if (const std::string told = rows_text(d, first ? first->name : ""); !told.empty())
    log_info("{:<11} {}", "rows", told);
  return kExitDone;
}

}  // namespace hone
