#include "run/commands/models_compare.h"

#include <algorithm>

#include "operate/registry/compare_versions.h"
#include "operate/registry/policy.h"
#include "run/commands/command.h"
#include "run/commands/deciding_metric.h"
#include "run/commands/lineage.h"

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
  if (!c.version.run_id.empty()) c.run = HONE_TRY(registry.run(c.version.run_id));
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

// The metrics of both, the one that decides first; the better value has a mark.
std::vector<ComparedLine> metric_lines(const VersionDifference& d, const std::string& first,
                                       bool whole) {
  std::vector<ComparedLine> lines;
  for (const auto& [key, values] : d.metrics.items()) {
    if (!whole && is_cost(key)) continue;
    const bool numbers = values[0].is_number() && values[1].is_number();
    const auto text = [&](const OrderedJson& value) {
      if (value.is_null()) return std::string();
      return whole || !value.is_number() ? dump_json(value) : metric_text(value.get<double>());
    };
    ComparedLine line{key, text(values[0]), text(values[1]),
                      numbers ? signed_text(values[2].get<double>()) : ""};
    const bool lower = lower_is_better(bare_metric(key));
    const bool judged = numbers && (key == first || lower);
    const double x = judged ? values[0].get<double>() : 0, y = judged ? values[1].get<double>() : 0;
    if (!whole) {
      line.a += x != y && (x < y) == lower ? "*" : " ";
      line.b += x != y && (y < x) == lower ? "*" : " ";
    }
    lines.insert(key == first ? lines.begin() : lines.end(), std::move(line));
  }
  return lines;
}

// The origin of both: the learning rate, model and data always, other settings where they differ.
std::vector<ComparedLine> setting_lines(const ComparedVersion& a, const ComparedVersion& b,
                                        const VersionDifference& d) {
  std::vector<ComparedLine> lines;
  const auto add = [&](const std::string& what, const std::string& x, const std::string& y) {
    if (!x.empty() || !y.empty()) lines.push_back({what, x, y, ""});
  };
  add("learning rate", learning_rate_of(a.run.params), learning_rate_of(b.run.params));
  add("parent", a.version.parent, b.version.parent);
  add("data", data_of(a.run), data_of(b.run));
  add("data hash", a.version.data_hash, b.version.data_hash);
  for (const auto& [key, values] : d.settings.items())
    if (key != "learning_rate") add("--" + key, dump_json(values[0]), dump_json(values[1]));
  add("hash", a.version.hash, b.version.hash);
  return lines;
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
  std::string decides;
  for (const Decision& decision : a.decisions)
    if (decides.empty()) decides = text_at(decision.evidence, "metric");
  const auto first = deciding_metric(a.version.metrics, a.version.task, a.run.params, decides);
  const bool text = how.form.format == "text";
  const auto metrics = metric_lines(d, first ? first->name : "", !text || how.form.wide);
  const auto settings = setting_lines(a, b, d);
  const std::string name_a = a.version.reference(), name_b = b.version.reference();
  TextTable numbers({{.name = text ? "metric" : "what"},
                     {.name = name_a, .kind = Column::kNumber},
                     {.name = name_b, .kind = Column::kNumber},
                     {.name = "difference", .kind = Column::kNumber, .priority = 1}});
  TextTable texts({{.name = "setting"},
                   {.name = name_a, .kind = Column::kName},
                   {.name = name_b, .kind = Column::kName}});
  for (const ComparedLine& l : metrics) numbers.add({l.what, l.a, l.b, l.difference});
  for (const ComparedLine& l : settings) {
    if (!text)
      numbers.add({l.what, l.a, l.b, l.difference});
    else if (how.form.wide)
      texts.add({l.what, l.a, l.b});
    else
      texts.add({l.what, short_hash(l.a), short_hash(l.b)});
  }
  print_tables({numbers, texts}, how.form);
  return kExitDone;
}

}  // namespace hone
